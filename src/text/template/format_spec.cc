#include "text/template/format_spec.h"

#include <algorithm>
#include <cmath>

#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/text_ops.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min<int64_t>(value * 10 + (text[at] - '0'), int64_t{1} << 40);
  }
  return value;
}

void insert_groups(std::string& digits, size_t end, char mark, size_t group) {
  for (size_t at = end; at > group;) {
    at -= group;
    digits.insert(at, 1, mark);
  }
}

// The end of the digits before the point, exponent or percent sign.
size_t whole_end(std::string_view digits) {
  size_t end = 0;
  while (end < digits.size() && digits[end] >= '0' && digits[end] <= '9') ++end;
  return end;
}

// Type "none" with a precision: as 'g', but one digit stands after the point.
std::string short_digits(double value, int precision) {
  precision = std::max(precision, 1);
  std::string digits = format_real(value, 'g', precision, false);
  const size_t e = digits.find('e');
  if (e == std::string::npos) {
    const bool needs_exponent = digits.find('.') == std::string::npos && static_cast<int>(digits.size()) >= precision;
    if (needs_exponent && value != 0) {
      std::string scientific = format_real(value, 'e', precision - 1, false);
      const size_t mark = scientific.find('e');
      std::string mantissa = scientific.substr(0, mark);
      while (mantissa.find('.') != std::string::npos && (mantissa.back() == '0' || mantissa.back() == '.')) {
        const bool point = mantissa.back() == '.';
        mantissa.pop_back();
        if (point) break;
      }
      return mantissa + scientific.substr(mark);
    }
    if (digits.find('.') == std::string::npos) digits += ".0";
  }
  return digits;
}

Text format_string(const Value& value, FormatSpec spec) {
  if (spec.type != '\0' && spec.type != 's') {
    fail("Unknown format code '" + std::string(1, spec.type) + "' for object of type 'str'");
  }
  if (spec.grouping != '\0') fail("Cannot specify '" + std::string(1, spec.grouping) + "' with 's'.");
  if (spec.sign != '-') fail("Sign not allowed in string format specifier");
  if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
  return lay_out_text(spec, value.as_text());
}

Text format_integer(const Value& value, FormatSpec spec) {
  const std::string_view types = "bdoxXn";
  if (spec.type == '\0') spec.type = 'd';
  if (spec.type == 'c') {
    std::string character;
    if (value.as_integer() < 0 || value.as_integer() > 0x10FFFF) fail("%c arg not in range(0x110000)");
    encode(static_cast<uint32_t>(value.as_integer()), character);
    return lay_out_text(spec, Text(character, Origin::template_source));
  }
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return Text(lay_out_number(spec, value.as_integer() < 0, "", real_digits(spec, std::fabs(value.to_real()))),
                Origin::template_source);
  }
  if (types.find(spec.type) == std::string_view::npos) {
    fail("Unknown format code '" + std::string(1, spec.type) + "' for object of type 'int'");
  }
  if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
  std::string prefix;
  if (spec.alternate && spec.type != 'd' && spec.type != 'n') prefix = std::string("0") + spec.type;
  return Text(lay_out_number(spec, value.as_integer() < 0, prefix, integer_digits(spec, value.as_integer())),
              Origin::template_source);
}

Text format_float(const Value& value, const FormatSpec& spec) {
  if (spec.type != '\0' && std::string_view("eEfFgGn%").find(spec.type) == std::string_view::npos) {
    fail("Unknown format code '" + std::string(1, spec.type) + "' for object of type 'float'");
  }
  const double real = value.as_real();
  return Text(lay_out_number(spec, std::signbit(real) && !std::isnan(real), "", real_digits(spec, std::fabs(real))),
              Origin::template_source);
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const size_t first = text.empty() ? 0 : decode(text, 0).bytes;
  const bool has_fill = first < text.size() && is_align(text[first]);
  if (has_fill) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    at = 1;
  }
  const auto next_is = [&](char c) { return at < text.size() && text[at] == c; };
  if (next_is('+') || next_is('-') || next_is(' ')) spec.sign = text[at++];
  if (next_is('#')) spec.alternate = true, ++at;
  if (next_is('0')) {
    ++at;
    spec.zero = spec.align == '\0';
    if (!has_fill) spec.fill = "0";
  }
  spec.width = read_number(text, at);
  if (next_is(',') || next_is('_')) spec.grouping = text[at++];
  if (next_is('.')) {
    const size_t digits = ++at;
    spec.precision = read_number(text, at);
    if (at == digits) fail("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("Invalid format specifier");
  if (spec.width > kFormatWidthMax || spec.precision > kFormatPrecisionMax)
    fail("a format's width or precision is too large");
  return spec;
}

std::string lay_out_number(const FormatSpec& spec, bool negative, std::string prefix, std::string digits) {
  std::string head = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  head += prefix;
  const auto size = static_cast<int64_t>(head.size() + digits.size());
  const int64_t space = std::max<int64_t>(spec.width - size, 0);
  if (spec.grouping != '\0' && spec.align == '=' && spec.fill == "0") {
    // Zeros take part in the grouping.
    std::string bare = digits.substr(0, whole_end(digits));
    std::erase(bare, spec.grouping);
    const std::string rest =
        digits.substr(whole_end(digits) == digits.size() ? digits.size() : digits.find_first_not_of("0123456789,_"));
    std::string grouped = digits;
    while (static_cast<int64_t>(head.size() + grouped.size()) < spec.width) {
      bare.insert(0, 1, '0');
      grouped = bare;
      insert_groups(grouped, grouped.size(), spec.grouping, 3);
      grouped += rest;
    }
    return head + grouped;
  }
  const auto fill = [&](int64_t count) {
    Budget::require(static_cast<size_t>(count) * spec.fill.size());
    std::string out;
    for (int64_t i = 0; i < count; ++i) out += spec.fill;
    return out;
  };
  switch (spec.align) {
    case '<': return head + digits + fill(space);
    case '^': return fill(space / 2) + head + digits + fill(space - space / 2);
    case '=': return head + fill(space) + digits;
    default: return fill(space) + head + digits;
  }
}

Text lay_out_text(const FormatSpec& spec, const Text& text) {
  Text shown = text;
  if (spec.precision >= 0) shown = text.substr(0, offset_of(text.view(), static_cast<size_t>(spec.precision)));
  const int64_t space = std::max<int64_t>(spec.width - static_cast<int64_t>(count_code_points(shown.view())), 0);
  const int64_t left = spec.align == '>' || spec.align == '=' ? space : spec.align == '^' ? space / 2 : 0;
  return pad(shown, left, space - left, Text(spec.fill, Origin::template_source));
}

std::string integer_digits(const FormatSpec& spec, int64_t value) {
  const uint64_t base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  // A variable, since GCC 12's bounds sanitizer indexes a choice between two literals wrongly.
  const std::string_view symbols = spec.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), symbols[rest % base]);
    rest /= base;
  } while (rest != 0);
  if (spec.grouping != '\0') insert_groups(digits, digits.size(), spec.grouping, base == 10 ? 3 : 4);
  return digits;
}

std::string real_digits(const FormatSpec& spec, double value) {
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (!std::isfinite(value)) {
    const std::string name = std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    return spec.type == '%' ? name + "%" : name;
  }
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  std::string digits;
  if (spec.type == '\0') {
    digits = spec.precision < 0 ? repr_real(value) : short_digits(value, precision);
  } else if (spec.type == '%') {
    digits = format_real(value * 100, 'f', precision, spec.alternate) + "%";
  } else {
    digits = format_real(value, spec.type == 'n' ? 'g' : spec.type, precision, spec.alternate);
  }
  if (spec.grouping != '\0') insert_groups(digits, whole_end(digits), spec.grouping, 3);
  return digits;
}

Text format_value(const Value& value, std::string_view text) {
  if (text.empty()) return to_text(value);
  if (value.is_string()) return format_string(value, parse_format_spec(text));
  if (value.is_number()) {
    FormatSpec spec = parse_format_spec(text);
    if (spec.zero) spec.align = '=';
    return value.is_real() ? format_float(value, spec) : format_integer(value, spec);
  }
  fail("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
}

}  // namespace takt::text::jinja
