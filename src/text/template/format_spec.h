// How one value is laid out in a field: the common part of "%5.2f" and "{:5.2f}".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/template/value.h"

namespace takt::text::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // '<' '>' '^' '='; 0: the type's own
  char sign = '-';    // '-' only for negative numbers, '+' always, ' ' a space for positive ones
  bool alternate = false;
  bool zero = false;     // "05" without an alignment: numbers are filled after the sign
  char grouping = '\0';  // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;  // -1: not given
  char type = '\0';
};

constexpr int64_t kFormatWidthMax = int64_t{1} << 24;
constexpr int64_t kFormatPrecisionMax = 10'000;

// "[[fill]align][sign][#][0][width][grouping][.precision][type]". Throws TemplateFailure for a bad one.
FormatSpec parse_format_spec(std::string_view text);
// Pads and signs the digits of a number. `digits` has no sign; `prefix` is "0x" or the like.
std::string lay_out_number(const FormatSpec& spec, bool negative, std::string prefix, std::string digits);
Text lay_out_text(const FormatSpec& spec, const Text& text);
// The digits of an integer for type d, b, o, x, X, with grouping.
std::string integer_digits(const FormatSpec& spec, int64_t value);
// The digits of |value| for type e, E, f, F, g, G, % or none.
std::string real_digits(const FormatSpec& spec, double value);
// Python's format(value, spec).
Text format_value(const Value& value, std::string_view spec);

}  // namespace takt::text::jinja
