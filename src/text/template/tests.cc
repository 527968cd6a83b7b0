// Tests: what may stand after "is".
#include <unordered_map>

#include "text/template/builtins.h"
#include "text/template/limits.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

using Kind = Value::Kind;

template <bool (*holds)(const Value&)>
bool plain(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("test", arguments, {});
  return holds(value);
}

template <bool (*holds)(const Value&, const Value&)>
bool with_other(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("test", arguments, {"other"}, 1);
  return holds(value, bound[0]);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is_boolean(); }
bool is_true(const Value& v) { return v.is_boolean() && v.as_boolean(); }
bool is_false(const Value& v) { return v.is_boolean() && !v.as_boolean(); }
bool is_integer(const Value& v) { return v.is_integer(); }
bool is_float(const Value& v) { return v.is_real(); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_string(); }
bool is_mapping(const Value& v) { return v.is_dict(); }
bool is_escaped(const Value& v) { return v.is_markup(); }

bool is_sequence(const Value& v) {
  return v.is_string() || v.is_sequence() || v.is_dict() || v.is_undefined() ||
         object_cast<Range>(v, ObjectType::range) != nullptr;
}

bool is_callable(const Value& v) {
  if (!v.is_object()) return false;
  switch (v.as_object()->type()) {
    case ObjectType::undefined:  // its class defines __call__, though calling it fails
    case ObjectType::macro:
    case ObjectType::loop:
    case ObjectType::bound_method:
    case ObjectType::function:
    case ObjectType::joiner: return true;
    default: return false;
  }
}

bool remainder_is(const Value& value, const Value& divisor, int64_t wanted) {
  return equals(binary(BinaryOperator::modulo, value, divisor), Value::integer(wanted));
}

bool is_odd(const Value& v) { return remainder_is(v, Value::integer(2), 1); }
bool is_even(const Value& v) { return remainder_is(v, Value::integer(2), 0); }
bool is_divisible(const Value& v, const Value& by) { return remainder_is(v, by, 0); }
bool not_equals(const Value& a, const Value& b) { return !equals(a, b); }
bool is_less(const Value& a, const Value& b) { return ordered(a, b, Order::less); }
bool is_less_equal(const Value& a, const Value& b) { return ordered(a, b, Order::less_equal); }
bool is_greater(const Value& a, const Value& b) { return ordered(a, b, Order::greater); }
bool is_greater_equal(const Value& a, const Value& b) { return ordered(a, b, Order::greater_equal); }
bool is_in(const Value& item, const Value& container) { return contains(container, item); }

bool names_filter(const Value& v) { return v.is_string() && is_filter(v.as_text().view()); }
bool names_test(const Value& v) { return v.is_string() && is_test(v.as_text().view()); }

template <bool lower>
bool has_case(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments none("test", arguments, {});
  Arguments empty;
  return truthy(call_string_method(interpreter, to_string_value(value), lower ? "islower" : "isupper", empty));
}

const std::unordered_map<std::string_view, TestFunction>& tests() {
  static const std::unordered_map<std::string_view, TestFunction> table = {{"defined", plain<is_defined>},
                                                                           {"undefined", plain<is_undefined>},
                                                                           {"none", plain<is_none>},
                                                                           {"boolean", plain<is_boolean>},
                                                                           {"true", plain<is_true>},
                                                                           {"false", plain<is_false>},
                                                                           {"integer", plain<is_integer>},
                                                                           {"float", plain<is_float>},
                                                                           {"number", plain<is_number>},
                                                                           {"string", plain<is_string>},
                                                                           {"mapping", plain<is_mapping>},
                                                                           {"sequence", plain<is_sequence>},
                                                                           {"iterable", plain<is_iterable>},
                                                                           {"callable", plain<is_callable>},
                                                                           {"escaped", plain<is_escaped>},
                                                                           {"odd", plain<is_odd>},
                                                                           {"even", plain<is_even>},
                                                                           {"divisibleby", with_other<is_divisible>},
                                                                           {"lower", has_case<true>},
                                                                           {"upper", has_case<false>},
                                                                           {"sameas", with_other<is_same>},
                                                                           {"in", with_other<is_in>},
                                                                           {"filter", plain<names_filter>},
                                                                           {"test", plain<names_test>},
                                                                           {"==", with_other<equals>},
                                                                           {"eq", with_other<equals>},
                                                                           {"equalto", with_other<equals>},
                                                                           {"!=", with_other<not_equals>},
                                                                           {"ne", with_other<not_equals>},
                                                                           {">", with_other<is_greater>},
                                                                           {"gt", with_other<is_greater>},
                                                                           {"greaterthan", with_other<is_greater>},
                                                                           {">=", with_other<is_greater_equal>},
                                                                           {"ge", with_other<is_greater_equal>},
                                                                           {"<", with_other<is_less>},
                                                                           {"lt", with_other<is_less>},
                                                                           {"lessthan", with_other<is_less>},
                                                                           {"<=", with_other<is_less_equal>},
                                                                           {"le", with_other<is_less_equal>}};
  return table;
}

}  // namespace

TestFunction find_test(std::string_view name) {
  const auto found = tests().find(name);
  return found == tests().end() ? nullptr : found->second;
}

}  // namespace takt::text::jinja
