// Numbers to and from text by Python's rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::text::jinja {

// repr(float): the shortest digits that read back equal, "1.0", "1e+16", "nan".
std::string repr_real(double value);
// int(text, base): surrounding space, sign, underscores between digits and a prefix that fits the base. Only ASCII
// digits. nullopt: not a number. Throws TemplateFailure when it does not fit 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base);
// float(text).
std::optional<double> parse_real(std::string_view text);
// "%.*f", "%.*e", "%.*g" and the like, with `conversion` one of eEfFgG. `alternate`: the '#' flag.
std::string format_real(double value, char conversion, int precision, bool alternate);
// round(value, digits): correctly rounded, half to even on the exact binary value, as CPython does.
double round_real(double value, int64_t digits);

}  // namespace takt::text::jinja
