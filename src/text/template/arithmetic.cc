// + - * / // % ** and the unary signs.
#include <cmath>

#include "text/template/format_percent.h"
#include "text/template/limits.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

std::string_view symbol(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::add: return "+";
    case BinaryOperator::subtract: return "-";
    case BinaryOperator::multiply: return "*";
    case BinaryOperator::divide: return "/";
    case BinaryOperator::floor_divide: return "//";
    case BinaryOperator::modulo: return "%";
    default: return "** or pow()";
  }
}

[[noreturn]] void fail_overflow() { fail("an integer does not fit 64 bits"); }

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0.0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) fail_overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
  }
  return Value::integer(result);
}

// Two integers that a double holds exactly divide correctly rounded; larger ones go through the wider type.
double integer_quotient(int64_t a, int64_t b) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const bool exact = a >= -kExact && a <= kExact && b >= -kExact && b <= kExact;
  if (exact) return static_cast<double>(a) / static_cast<double>(b);
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}

Value integer_binary(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOperator::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case BinaryOperator::subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case BinaryOperator::multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case BinaryOperator::divide:
      if (b == 0) fail("division by zero");
      return Value::real(integer_quotient(a, b));
    case BinaryOperator::floor_divide:
    case BinaryOperator::modulo: {
      if (b == 0) fail(op == BinaryOperator::modulo ? "integer modulo by zero" : "integer division or modulo by zero");
      if (b == -1) {  // INT64_MIN / -1 overflows in C
        if (op == BinaryOperator::modulo) return Value::integer(0);
        overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
        break;
      }
      const int64_t remainder = a % b;
      const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
      result = op == BinaryOperator::modulo ? remainder + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
      break;
    }
    case BinaryOperator::power: return integer_power(a, b);
  }
  if (overflow) fail_overflow();
  return Value::integer(result);
}

// CPython's float_divmod: the modulo takes the divisor's sign, the quotient is floored exactly.
Value real_divmod(BinaryOperator op, double a, double b) {
  if (b == 0) fail(op == BinaryOperator::modulo ? "float modulo" : "float floor division by zero");
  double modulo = std::fmod(a, b);
  double quotient = (a - modulo) / b;
  if (modulo != 0) {
    if ((b < 0) != (modulo < 0)) {
      modulo += b;
      quotient -= 1.0;
    }
  } else {
    modulo = std::copysign(0.0, b);
  }
  if (op == BinaryOperator::modulo) return Value::real(modulo);
  double floored = std::copysign(0.0, a / b);
  if (quotient != 0) {
    floored = std::floor(quotient);
    if (quotient - floored > 0.5) floored += 1.0;
  }
  return Value::real(floored);
}

Value real_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b) {
    fail("a negative number to a fractional power is complex, which Takt's templates do not have");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("(34, 'Numerical result out of range')");
  return Value::real(result);
}

Value real_binary(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::add: return Value::real(a + b);
    case BinaryOperator::subtract: return Value::real(a - b);
    case BinaryOperator::multiply: return Value::real(a * b);
    case BinaryOperator::divide:
      if (b == 0) fail("float division by zero");
      return Value::real(a / b);
    case BinaryOperator::power: return real_power(a, b);
    default: return real_divmod(op, a, b);
  }
}

Value concatenate(const Value& a, const Value& b) {
  const bool markup = a.is_markup() || b.is_markup();
  Text text;
  text.reserve(a.as_text().size() + b.as_text().size());
  text.append(markup ? escaped(a) : a.as_text());
  text.append(markup ? escaped(b) : b.as_text());
  return Value::text(std::move(text), markup);
}

Value join_sequences(const Value& a, const Value& b) {
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeat(const Value& sequence, int64_t count) {
  const auto times = static_cast<size_t>(count < 0 ? 0 : count);
  const size_t unit = sequence.is_string() ? sequence.as_text().size() : sequence.items().size();
  if (unit != 0 && times > (size_t{1} << 40) / unit) fail("a repetition is too long");
  if (sequence.is_string()) {
    Budget::require(unit * times);  // before the memory is taken
    Text text;
    text.reserve(unit * times);
    for (size_t i = 0; i < times && unit > 0; ++i) text.append(sequence.as_text());
    return Value::text(std::move(text), sequence.is_markup());
  }
  Budget::require(unit * times * sizeof(Value));
  std::vector<Value> items;
  items.reserve(unit * times);
  for (size_t i = 0; i < times && unit > 0; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return sequence.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

[[noreturn]] void fail_operands(BinaryOperator op, const Value& a, const Value& b) {
  const std::string left(type_name(a)), right(type_name(b));
  if (op == BinaryOperator::add && a.is_string()) fail("can only concatenate str (not \"" + right + "\") to str");
  if (op == BinaryOperator::add && a.is_sequence()) {
    fail("can only concatenate " + left + " (not \"" + right + "\") to " + left);
  }
  if (op == BinaryOperator::multiply && (a.is_string() || a.is_sequence() || b.is_string() || b.is_sequence())) {
    const bool left_repeats = a.is_string() || a.is_sequence();
    fail("can't multiply sequence by non-int of type '" + (left_repeats ? right : left) + "'");
  }
  fail("unsupported operand type(s) for " + std::string(symbol(op)) + ": '" + left + "' and '" + right + "'");
}

}  // namespace

Value binary(BinaryOperator op, const Value& a, const Value& b) {
  if (op == BinaryOperator::modulo && a.is_string()) return format_percent(a, b);
  require_defined(a);
  require_defined(b);
  if (a.is_integral() && b.is_integral()) return integer_binary(op, a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return real_binary(op, a.to_real(), b.to_real());
  if (op == BinaryOperator::add) {
    if (a.is_string() && b.is_string()) return concatenate(a, b);
    if (a.is_sequence() && a.kind() == b.kind()) return join_sequences(a, b);
  }
  if (op == BinaryOperator::multiply) {
    if ((a.is_string() || a.is_sequence()) && b.is_integral()) return repeat(a, b.as_integer());
    if ((b.is_string() || b.is_sequence()) && a.is_integral()) return repeat(b, a.as_integer());
  }
  fail_operands(op, a, b);
}

Value negate(const Value& value) {
  require_defined(value);
  if (value.is_integral()) return integer_binary(BinaryOperator::subtract, 0, value.as_integer());
  if (value.is_real()) return Value::real(-value.as_real());
  fail("bad operand type for unary -: '" + std::string(type_name(value)) + "'");
}

Value positive(const Value& value) {
  require_defined(value);
  if (value.is_integral()) return Value::integer(value.as_integer());
  if (value.is_real()) return value;
  fail("bad operand type for unary +: '" + std::string(type_name(value)) + "'");
}

}  // namespace takt::text::jinja
