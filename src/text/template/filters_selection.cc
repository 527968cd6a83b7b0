// Filters that apply other filters and tests: map, select and their kin; and the table of all filters.
#include <algorithm>

#include "text/template/filters.h"
#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/text_ops.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

int depth_of(const Arguments& arguments) {
  int deepest = 0;
  for (const Value& value : arguments.positional) deepest = std::max(deepest, value.depth());
  for (const auto& [name, value] : arguments.named) deepest = std::max(deepest, value.depth());
  return deepest;
}

std::string name_argument(const Value& value) {
  require_defined(value);
  if (!value.is_string()) fail("No filter or test named " + repr(value) + ".");
  return value.as_text().bytes();
}

Value empty_generator() {
  return make_iterator("generator", 0, [] { return std::optional<Value>(); });
}

Value default_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_default", arguments, {"default_value", "boolean"});
  const bool replaced = value.is_undefined() || (bound.flag(1, false) && !truthy(value));
  return replaced ? bound.value_or(0, Value::string("", Origin::template_source)) : value;
}

Value attr_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_attr", arguments, {"name"}, 1);
  require_defined(value);
  const std::string_view name = require_text(bound[0], "attribute name").view();
  // Unlike value.name, a dict's members do not count.
  if (value.is_dict() && !has_method(value, name)) return undefined_attribute(value, name);
  return interpreter.get_attribute(value, name);
}

Value map_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  if (!truthy(value)) return empty_generator();
  const int depth = std::max(value.depth(), depth_of(arguments));
  if (arguments.positional.empty() && arguments.find_named("attribute") != nullptr) {
    const AttributePath path(*arguments.take_named("attribute"));
    const Value fallback = arguments.take_named("default").value_or(Value());
    if (!arguments.named.empty()) fail("Unexpected keyword argument '" + arguments.named[0].first + "'");
    return make_iterator("generator", depth,
                         [&interpreter, path, fallback, next = stream(value)]() -> std::optional<Value> {
                           const std::optional<Value> item = next();
                           if (!item) return std::nullopt;
                           Budget::step();
                           return path.of(interpreter, *item, &fallback);
                         });
  }
  if (arguments.positional.empty()) fail("map requires a filter argument");
  std::string name = name_argument(arguments.positional[0]);
  if (!is_filter(name)) fail("No filter named '" + name + "'.");
  arguments.positional.erase(arguments.positional.begin());
  return make_iterator(
      "generator", depth,
      [&interpreter, name = std::move(name), arguments, next = stream(value)]() -> std::optional<Value> {
        const std::optional<Value> item = next();
        if (!item) return std::nullopt;
        Budget::step();
        Arguments copy = arguments;
        return interpreter.call_filter(name, *item, copy);
      });
}

// select, reject, selectattr, rejectattr.
template <bool keep, bool by_attribute>
Value select_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const int depth = std::max(value.depth(), depth_of(arguments));
  if (!truthy(value)) return empty_generator();
  AttributePath path;
  if (by_attribute) {
    if (arguments.positional.empty()) fail("Missing parameter for attribute name");
    path = AttributePath(arguments.positional[0]);
    arguments.positional.erase(arguments.positional.begin());
  }
  std::string test;
  if (!arguments.positional.empty()) {
    test = name_argument(arguments.positional[0]);
    if (!is_test(test)) fail("No test named '" + test + "'.");
    arguments.positional.erase(arguments.positional.begin());
  }
  return make_iterator(
      "generator", depth, [&interpreter, path, test, arguments, next = stream(value)]() -> std::optional<Value> {
        while (std::optional<Value> item = next()) {
          Budget::step();
          const Value subject = path.of(interpreter, *item);
          Arguments copy = arguments;
          const bool passes = test.empty() ? truthy(subject) : interpreter.call_test(test, subject, copy);
          if (passes == keep) return item;
        }
        return std::nullopt;
      });
}

Value unsupported_filter(Interpreter&, const Value&, Arguments&) {
  fail("the filters pprint, random, striptags, urlize, wordwrap and xmlattr are not supported");
}

}  // namespace

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is_none()) return;
  if (!attribute.is_string()) {
    parts_ = {attribute};
    return;
  }
  for (const Text& part : split(attribute.as_text(), ".", -1)) {
    const bool digits = !part.empty() && part.view().find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(digits ? Value::integer(parse_integer(part.view(), 10).value_or(0)) : Value::text(part));
  }
}

Value AttributePath::of(Interpreter& interpreter, const Value& item, const Value* fallback) const {
  Value value = item;
  for (const Value& part : parts_) {
    value = interpreter.get_item(value, part);
    if (fallback != nullptr && !fallback->is_none() && value.is_undefined()) value = *fallback;
  }
  return value;
}

int AttributePath::depth() const {
  int deepest = 0;
  for (const Value& part : parts_) deepest = std::max(deepest, part.depth());
  return deepest;
}

Value folded(const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return Value::text(lower(value.as_text()));
}

void add_selection_filters(FilterTable& table) {
  table["default"] = table["d"] = default_filter;
  table["attr"] = attr_filter;
  table["map"] = map_filter;
  table["select"] = select_filter<true, false>;
  table["reject"] = select_filter<false, false>;
  table["selectattr"] = select_filter<true, true>;
  table["rejectattr"] = select_filter<false, true>;
  for (const char* const name : {"pprint", "random", "striptags", "urlize", "wordwrap", "xmlattr"}) {
    table[name] = unsupported_filter;
  }
}

FilterFunction find_filter(std::string_view name) {
  static const FilterTable table = [] {
    FilterTable filters;
    add_text_filters(filters);
    add_number_filters(filters);
    add_sequence_filters(filters);
    add_selection_filters(filters);
    return filters;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace takt::text::jinja
