#include "text/template/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/template/limits.h"
#include "text/template/unicode.h"

namespace takt::text::jinja {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = decode(text, 0);
    if (!is_space(first.code)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    const CodePoint last = decode_before(text, text.size());
    if (!is_space(last.code)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const char letter = lower(text[1]);
  return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
}

// Removes underscores that stand between two digits; false if one stands elsewhere.
bool drop_underscores(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && digit_value(text[i - 1]) < 10 && digit_value(text[i + 1]) < 10;
    if (!between) return false;
  }
  return true;
}

}  // namespace

std::string repr_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  const bool negative = text[0] == '-';
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  std::string result = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    result += digits[0];
    if (count > 1) result += "." + digits.substr(1);
    const int magnitude = std::abs(exponent);
    result += exponent < 0 ? "e-" : "e+";
    return result + (magnitude < 10 ? "0" : "") + std::to_string(magnitude);
  }
  if (exponent < 0) return result + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return result + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return result + digits.substr(0, static_cast<size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<size_t>(exponent) + 1);
}

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  text = trimmed(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const int prefix = prefix_base(text);
  const bool prefixed = prefix != 0 && (base == 0 || base == prefix);
  if (prefixed) {
    base = prefix;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  }
  const bool only_zeros = base == 0 && text.size() > 1 && text[0] == '0';
  if (base == 0) base = 10;
  bool after_digit = false;
  unsigned __int128 magnitude = 0;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    const int digit = digit_value(c);
    if (digit >= base || (only_zeros && digit != 0)) return std::nullopt;
    after_digit = true;
    magnitude = magnitude * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
    if (magnitude > (static_cast<unsigned __int128>(1) << 63)) fail("an integer does not fit 64 bits");
  }
  if (!after_digit) return std::nullopt;
  if (!negative && magnitude > INT64_MAX) fail("an integer does not fit 64 bits");
  return static_cast<int64_t>(negative ? -static_cast<__int128>(magnitude) : static_cast<__int128>(magnitude));
}

std::optional<double> parse_real(std::string_view text) {
  text = trimmed(text);
  std::string cleaned;
  if (!drop_underscores(text, cleaned)) return std::nullopt;
  std::string_view rest = cleaned;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  std::string lowered(rest);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  if (lowered == "inf" || lowered == "infinity") return negative ? -INFINITY : INFINITY;
  if (lowered == "nan") return NAN;
  if (rest.empty() || !((rest[0] >= '0' && rest[0] <= '9') || rest[0] == '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(lowered.data(), lowered.data() + lowered.size(), value);
  if (end != lowered.data() + lowered.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(lowered.c_str(), nullptr);
  return negative ? -value : value;
}

std::string format_real(double value, char conversion, int precision, bool alternate) {
  const char format[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : conversion, alternate ? conversion : '\0',
      '\0'};
  const int size = std::snprintf(nullptr, 0, format, precision, value);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.pop_back();
  return text;
}

double round_real(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits >= 0) return std::strtod(format_real(value, 'f', static_cast<int>(digits), false).c_str(), nullptr);
  // Negative digits: print the exact integer part with %e so that rounding is correct.
  const std::string whole = format_real(std::fabs(value), 'f', 0, false);
  const int64_t significant = static_cast<int64_t>(whole.size()) + digits;
  if (significant < 1) {
    // Below one unit of the rounding place: up only when more than half of it.
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::copysign(std::fabs(value) > unit / 2 ? unit : 0.0, value);
  }
  return std::strtod(format_real(value, 'e', static_cast<int>(significant) - 1, false).c_str(), nullptr);
}

}  // namespace takt::text::jinja
