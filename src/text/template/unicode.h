// UTF-8 and the character classes of Python's str methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace takt::text::jinja {

struct CodePoint {
  uint32_t code;
  uint32_t bytes;  // 1 to 4
};

// The code point at `offset`. A byte that starts no valid sequence counts as one code point 0xDC00 + byte, so that any
// byte string can be walked. Precondition: offset < text.size().
CodePoint decode(std::string_view text, size_t offset);
// The code point that ends at `offset`. Precondition: 0 < offset <= text.size().
CodePoint decode_before(std::string_view text, size_t offset);
void encode(uint32_t code, std::string& out);
bool is_valid_utf8(std::string_view text);
size_t count_code_points(std::string_view text);
// The byte offset of code point number `index`, text.size() when there are fewer.
size_t offset_of(std::string_view text, size_t index);

bool is_space(uint32_t code);       // str.isspace
bool is_line_break(uint32_t code);  // str.splitlines
bool is_printable(uint32_t code);
bool is_alphabetic(uint32_t code);
bool is_decimal(uint32_t code);
bool is_digit(uint32_t code);
bool is_numeric(uint32_t code);
bool is_uppercase(uint32_t code);
bool is_lowercase(uint32_t code);
bool is_titlecase(uint32_t code);
bool is_word(uint32_t code);  // \w of Python's re

enum class Case { upper, lower, title };
// Appends `code` in the given case (without the rule for a final sigma).
void append_case(uint32_t code, Case to, std::string& out);

}  // namespace takt::text::jinja
