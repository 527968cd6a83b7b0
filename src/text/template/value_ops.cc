#include "text/template/value_ops.h"

#include <algorithm>
#include <cmath>

#include "text/template/limits.h"
#include "text/template/text_search.h"
#include "text/template/unicode.h"

namespace takt::text::jinja {
namespace {

int three_way(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

// Exact comparison of an integer with a finite double.
int compare_exact(int64_t a, double b) {
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const double whole = std::floor(b);
  const auto b_whole = static_cast<int64_t>(whole);
  if (a != b_whole) return a < b_whole ? -1 : 1;
  return b > whole ? -1 : 0;
}

// nullopt: one of them is NaN.
std::optional<int> compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer() ? 1 : 0;
  }
  if (std::isnan(a.to_real()) || std::isnan(b.to_real())) return std::nullopt;
  if (a.is_real() && b.is_real()) return three_way(a.as_real(), b.as_real());
  return a.is_integral() ? compare_exact(a.as_integer(), b.as_real()) : -compare_exact(b.as_integer(), a.as_real());
}

std::string_view symbol(Order order) {
  switch (order) {
    case Order::less: return "<";
    case Order::less_equal: return "<=";
    case Order::greater: return ">";
    default: return ">=";
  }
}

bool holds(int comparison, Order order) {
  switch (order) {
    case Order::less: return comparison < 0;
    case Order::less_equal: return comparison <= 0;
    case Order::greater: return comparison > 0;
    default: return comparison >= 0;
  }
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* const other = b.find(key);
    if (other == nullptr || !equals(value, *other)) return false;
  }
  return true;
}

bool equal_objects(const Value& a, const Value& b) {
  if (a.is_undefined() && b.is_undefined()) return true;
  if (a.identity() == b.identity()) return true;
  const auto* const range_a = object_cast<Range>(a, ObjectType::range);
  const auto* const range_b = object_cast<Range>(b, ObjectType::range);
  if (range_a != nullptr && range_b != nullptr) return equals(Value::list(to_vector(a)), Value::list(to_vector(b)));
  const auto* const method_a = object_cast<BoundMethod>(a, ObjectType::bound_method);
  const auto* const method_b = object_cast<BoundMethod>(b, ObjectType::bound_method);
  if (method_a != nullptr && method_b != nullptr) {
    return method_a->name == method_b->name && method_a->self.identity() == method_b->self.identity() &&
           method_a->self.identity() != nullptr;
  }
  const auto* const view_a = object_cast<DictView>(a, ObjectType::dict_view);
  const auto* const view_b = object_cast<DictView>(b, ObjectType::dict_view);
  if (view_a != nullptr && view_b != nullptr && view_a->part == view_b->part &&
      view_a->part != DictView::Part::values) {
    if (view_a->part == DictView::Part::items) return equal_dicts(view_a->dict.as_dict(), view_b->dict.as_dict());
    if (view_a->dict.as_dict().size() != view_b->dict.as_dict().size()) return false;
    for (const auto& [key, value] : view_a->dict.as_dict().entries()) {
      if (view_b->dict.as_dict().find(key) == nullptr) return false;
    }
    return true;
  }
  return false;
}

size_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<size_t>(x ^ (x >> 31));
}

}  // namespace

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return "NoneType";
    case Value::Kind::boolean: return "bool";
    case Value::Kind::integer: return "int";
    case Value::Kind::real: return "float";
    case Value::Kind::string: return value.is_markup() ? "Markup" : "str";
    case Value::Kind::list: return "list";
    case Value::Kind::tuple: return "tuple";
    case Value::Kind::dict: return "dict";
    case Value::Kind::object: return value.as_object()->python_type();
    default: return "missing";
  }
}

void fail_undefined(const Value& undefined) { fail(static_cast<Undefined*>(undefined.as_object())->message()); }

void require_defined(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none:
    case Value::Kind::missing: return false;
    case Value::Kind::boolean:
    case Value::Kind::integer: return value.as_integer() != 0;
    case Value::Kind::real: return value.as_real() != 0;
    default: break;
  }
  if (value.is_undefined()) return false;
  return length(value).value_or(1) != 0;
}

bool equals(const Value& a, const Value& b) {
  Budget::step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::none:
    case Value::Kind::missing: return true;
    case Value::Kind::string:
      Budget::work(std::min(a.as_text().size(), b.as_text().size()));
      return a.as_text().view() == b.as_text().view();
    case Value::Kind::list:
    case Value::Kind::tuple:
      return a.identity() == b.identity() ||
             std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), equals);
    case Value::Kind::dict: return a.identity() == b.identity() || equal_dicts(a.as_dict(), b.as_dict());
    default: return equal_objects(a, b);
  }
}

size_t hash(const Value& value) {
  Budget::step();
  switch (value.kind()) {
    case Value::Kind::none: return 0x6e6f6e65;
    case Value::Kind::boolean:
    case Value::Kind::integer: return mix(static_cast<uint64_t>(value.as_integer()));
    case Value::Kind::real: {
      const double real = value.as_real();
      const bool whole = std::floor(real) == real && std::fabs(real) < 9e18;
      return whole ? mix(static_cast<uint64_t>(static_cast<int64_t>(real))) : std::hash<double>()(real);
    }
    case Value::Kind::string:
      Budget::work(value.as_text().size());
      return std::hash<std::string_view>()(value.as_text().view());
    case Value::Kind::tuple: {
      size_t sum = 0x7475706c;
      for (const Value& item : value.items()) sum = mix(sum ^ hash(item));
      return sum;
    }
    case Value::Kind::list:
    case Value::Kind::dict: fail("unhashable type: '" + std::string(type_name(value)) + "'");
    default: return value.is_undefined() ? 0x756e6465 : std::hash<const void*>()(value.identity());
  }
}

bool ordered(const Value& a, const Value& b, Order order) {
  Budget::step();
  require_defined(a);
  require_defined(b);
  if (a.is_number() && b.is_number()) {
    const std::optional<int> comparison = compare_numbers(a, b);
    return comparison && holds(*comparison, order);
  }
  if (a.is_string() && b.is_string()) {
    Budget::work(std::min(a.as_text().size(), b.as_text().size()));
    return holds(a.as_text().view().compare(b.as_text().view()), order);  // UTF-8 sorts as code points do
  }
  if (a.kind() == b.kind() && a.is_sequence()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equals(x[i], y[i])) return ordered(x[i], y[i], order);
    }
    return holds(x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0, order);
  }
  fail("'" + std::string(symbol(order)) + "' not supported between instances of '" + std::string(type_name(a)) +
       "' and '" + std::string(type_name(b)) + "'");
}

bool is_same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_integral()) return a.as_integer() == b.as_integer();
  if (a.is_none()) return true;
  if (a.is_real()) return a.as_real() == b.as_real();
  if (a.is_string()) return a.identity() == b.identity() || a.as_text().view() == b.as_text().view();
  return a.identity() == b.identity() || (a.is_tuple() && a.items().empty() && b.items().empty());
}

bool contains(const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      fail("'in <string>' requires string as left operand, not " + std::string(type_name(item)));
    }
    Budget::work(container.as_text().size());
    return find_text(container.as_text().view(), item.as_text().view()) != std::string_view::npos;
  }
  if (container.is_dict()) return container.as_dict().find(item) != nullptr;
  const auto* const view = object_cast<DictView>(container, ObjectType::dict_view);
  if (view != nullptr && view->part == DictView::Part::keys) return view->dict.as_dict().find(item) != nullptr;
  if (const auto* const range = object_cast<Range>(container, ObjectType::range);
      range != nullptr && item.is_integral()) {
    const int64_t value = item.as_integer();
    const bool inside =
        range->step > 0 ? value >= range->start && value < range->stop : value <= range->start && value > range->stop;
    return inside && (value - range->start) % range->step == 0;
  }
  if (!is_iterable(container)) fail("argument of type '" + std::string(type_name(container)) + "' is not iterable");
  bool found = false;
  iterate(container, [&](const Value& member) {
    found = equals(member, item) || is_same(member, item);
    return !found;
  });
  return found;
}

}  // namespace takt::text::jinja
