// Python's str methods on text with origins: every byte of a result keeps the origin it had.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/template/provenance_text.h"
#include "text/template/unicode.h"

namespace takt::text::jinja {

// strip, lstrip, rstrip. `characters`: the set to remove; nullopt: white space.
Text strip(const Text& text, std::optional<std::string_view> characters, bool left, bool right);
// At most `count` replacements; negative: all. An empty `old` matches between all characters.
Text replace(const Text& text, std::string_view old, const Text& replacement, int64_t count);
// At most `splits` cuts; negative: no bound. Without a separator: at runs of white space.
std::vector<Text> split(const Text& text, std::optional<std::string_view> separator, int64_t splits);
std::vector<Text> split_from_right(const Text& text, std::optional<std::string_view> separator, int64_t splits);
std::vector<Text> split_lines(const Text& text, bool keep_ends);
Text join(const Text& separator, const std::vector<Text>& parts);

Text upper(const Text& text);
Text lower(const Text& text);
Text title(const Text& text);  // str.title
Text capitalize(const Text& text);
Text swap_case(const Text& text);
Text pad(const Text& text, int64_t left, int64_t right, const Text& fill);  // `fill`: one character

}  // namespace takt::text::jinja
