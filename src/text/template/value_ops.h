// Python's operators on values. Everything here throws TemplateFailure with Python's own words on a type error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/template/object.h"
#include "text/template/value.h"

namespace takt::text::jinja {

std::string_view type_name(const Value& value);  // 'int', 'str', 'NoneType', …
[[noreturn]] void fail_undefined(const Value& undefined);
// Fails if `value` is undefined.
void require_defined(const Value& value);

bool truthy(const Value& value);
// a < b, a <= b, …; `symbol` names the operator for the message.
enum class Order { less, less_equal, greater, greater_equal };
bool ordered(const Value& a, const Value& b, Order order);
bool is_same(const Value& a, const Value& b);  // Python's `is`
bool contains(const Value& container, const Value& item);

enum class BinaryOperator { add, subtract, multiply, divide, floor_divide, modulo, power };
Value binary(BinaryOperator op, const Value& a, const Value& b);
Value negate(const Value& value);
Value positive(const Value& value);

// len(): nullopt when the type has none.
std::optional<int64_t> length(const Value& value);
int64_t require_length(const Value& value);
bool is_iterable(const Value& value);
// Calls `visit` with each item until it returns false. Fails when not iterable.
void iterate(const Value& iterable, const std::function<bool(const Value&)>& visit);
// A stream over `iterable`, which stays alive with it.
Iterator::Next stream(const Value& iterable);
std::vector<Value> to_vector(const Value& iterable);

// obj[start:stop:step]; a missing bound is None.
Value slice(const Value& object, const Value& start, const Value& stop, const Value& step);
// Python's obj[key] without jinja's fallbacks: nullopt stands for TypeError and LookupError.
std::optional<Value> subscript(const Value& object, const Value& key);
int64_t require_integer(const Value& value, std::string_view what);  // bool counts as an integer

// str(value) and repr(value). The origin of the result is the user's if any of the value's text is.
Text to_text(const Value& value);
Value to_string_value(const Value& value);
std::string repr(const Value& value);

// HTML: & < > ' " replaced; markup is left alone.
Text escaped(const Value& value);

}  // namespace takt::text::jinja
