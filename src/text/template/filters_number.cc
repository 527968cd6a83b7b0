// Filters on numbers.
#include <cmath>
#include <cstdio>

#include "text/template/filters.h"
#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

// int(float): towards zero; nullopt for infinities and NaN.
std::optional<Value> truncated(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::fabs(value) >= 9223372036854775808.0) fail("an integer does not fit 64 bits");
  return Value::integer(static_cast<int64_t>(value));
}

Value int_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_int", arguments, {"default", "base"});
  require_defined(value);
  const Value fallback = bound.value_or(0, Value::integer(0));
  if (value.is_integral()) return Value::integer(value.as_integer());
  if (value.is_real()) {
    if (std::isinf(value.as_real())) fail("cannot convert float infinity to integer");
    return truncated(value.as_real()).value_or(fallback);
  }
  if (!value.is_string()) return fallback;
  const int64_t base = bound.integer(1, 10);
  const std::string_view text = value.as_text().view();
  const bool known_base = base == 0 || (base >= 2 && base <= 36);
  if (known_base) {
    if (const auto parsed = parse_integer(text, static_cast<int>(base))) return Value::integer(*parsed);
  }
  const std::optional<double> real = parse_real(text);
  return real ? truncated(*real).value_or(fallback) : fallback;
}

Value float_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_float", arguments, {"default"});
  require_defined(value);
  if (value.is_number()) return Value::real(value.to_real());
  if (value.is_string()) {
    if (const auto parsed = parse_real(value.as_text().view())) return Value::real(*parsed);
  }
  return bound.value_or(0, Value::real(0));
}

Value abs_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("abs", arguments, {});
  if (value.is_integral()) return value.as_integer() < 0 ? negate(value) : positive(value);
  if (value.is_real()) return Value::real(std::fabs(value.as_real()));
  fail("bad operand type for abs(): '" + std::string(type_name(value)) + "'");
}

Value round_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_round", arguments, {"precision", "method"});
  const std::string method = bound.has(1) ? to_text(bound[1]).bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  const Value precision = bound.value_or(0, Value::integer(0));
  if (method != "common") {
    const Value scale = binary(BinaryOperator::power, Value::integer(10), precision);
    const Value scaled = binary(BinaryOperator::multiply, value, scale);
    if (!scaled.is_number()) fail("must be real number, not " + std::string(type_name(scaled)));
    const double whole = method == "ceil" ? std::ceil(scaled.to_real()) : std::floor(scaled.to_real());
    const auto integer = truncated(whole);
    if (!integer) fail("cannot convert float infinity or NaN to integer");
    return binary(BinaryOperator::divide, *integer, scale);
  }
  require_defined(value);
  if (!value.is_number()) fail("type " + std::string(type_name(value)) + " doesn't define __round__ method");
  const int64_t digits = precision.is_none() ? 0 : require_integer(precision, "precision");
  if (value.is_real()) {
    const double rounded = round_real(value.as_real(), digits);
    if (!precision.is_none()) return Value::real(rounded);
    return truncated(rounded).value_or(Value::real(rounded));
  }
  if (digits >= 0) return Value::integer(value.as_integer());
  // An integer to tens, hundreds, …: half to even.
  if (digits < -18) return Value::integer(0);
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  const int64_t number = value.as_integer();
  int64_t floor = number / unit - (number % unit < 0 ? 1 : 0);
  const auto rest = static_cast<uint64_t>(number) - static_cast<uint64_t>(floor) * static_cast<uint64_t>(unit);
  const auto half = static_cast<uint64_t>(unit) / 2;
  if (rest > half || (rest == half && floor % 2 != 0)) ++floor;
  return binary(BinaryOperator::multiply, Value::integer(floor), Value::integer(unit));
}

Value file_size_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_filesizeformat", arguments, {"binary"});
  require_defined(value);
  const std::optional<double> parsed = value.is_string()   ? parse_real(value.as_text().view())
                                       : value.is_number() ? std::optional<double>(value.to_real())
                                                           : std::nullopt;
  if (!parsed) fail("could not convert to float: " + repr(value));
  const double bytes = *parsed;
  const bool binary_units = bound.flag(0, false);
  const double base = binary_units ? 1024 : 1000;
  std::string text;
  if (bytes == 1) {
    text = "1 Byte";
  } else if (bytes < base) {
    text = std::to_string(static_cast<int64_t>(std::isfinite(bytes) ? bytes : 0)) + " Bytes";
  } else {
    static constexpr const char* kPrefixes[] = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
    double unit = base * base;
    size_t i = 0;
    for (; i < 7 && bytes >= unit; ++i) unit *= base;
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.1f", base * bytes / unit);
    const std::string prefix = binary_units && i == 0 ? "K" : kPrefixes[i];
    text = std::string(buffer) + " " + prefix + (binary_units ? "iB" : "B");
  }
  return Value::string(std::move(text), Origin::template_source);
}

}  // namespace

void add_number_filters(FilterTable& table) {
  table["int"] = int_filter;
  table["float"] = float_filter;
  table["abs"] = abs_filter;
  table["round"] = round_filter;
  table["filesizeformat"] = file_size_filter;
}

}  // namespace takt::text::jinja
