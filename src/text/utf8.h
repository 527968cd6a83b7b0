// UTF-8 well-formedness (Unicode standard, table 3-7), one sequence at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace takt::text {

// U+FFFD, what stands for bytes that are not text.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Utf8Step {
  enum class Kind {
    valid,       // `size` bytes are one character
    invalid,     // `size` bytes can never begin a character: the maximal ill-formed part, replaced by one U+FFFD
    incomplete,  // the text ends inside a character: all its bytes are a proper prefix of one
  };
  Kind kind;
  size_t size;  // bytes, 1 to 4
};

// Looks at the front of `text`. Precondition: not empty.
Utf8Step next_utf8(std::string_view text);

// Bytes at the front of `text` that are well-formed UTF-8; an incomplete end does not count.
size_t utf8_valid_prefix(std::string_view text);

// Bytes at the front of `text` before the next well-formed character (0 when it begins with one).
size_t utf8_invalid_prefix(std::string_view text);

}  // namespace takt::text
