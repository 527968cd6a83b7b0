// Functions that every template sees.
#include <unordered_map>

#include "text/template/builtins.h"
#include "text/template/limits.h"
#include "text/template/time_text.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

Value range_function(Interpreter&, Arguments& arguments) {
  if (!arguments.named.empty()) fail("range() takes no keyword arguments");
  const BoundArguments bound("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t first = bound.integer(0, 0);
  const int64_t start = bound.has(1) ? first : 0;
  const int64_t stop = bound.has(1) ? bound.integer(1, 0) : first;
  const int64_t step = bound.integer(2, 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  auto range = std::make_shared<Range>(start, stop, step);
  if (range->length() > kRangeLengthMax || range->length() < 0) {
    fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" + std::to_string(kRangeLengthMax) + ").");
  }
  return Value::object(std::move(range));
}

// Python's dict(mapping_or_pairs, **named).
Dict make_dict(Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) {
    fail("dict expected at most 1 argument, got " + std::to_string(arguments.positional.size()));
  }
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    dict = arguments.positional[0].as_dict();
  } else if (!arguments.positional.empty()) {
    iterate(arguments.positional[0], [&](const Value& item) {
      const std::vector<Value> pair = to_vector(item);
      if (pair.size() != 2) {
        fail("dictionary update sequence element #" + std::to_string(dict.size()) + " has length " +
             std::to_string(pair.size()) + "; 2 is required");
      }
      dict.set(pair[0], pair[1]);
      return true;
    });
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value, Origin::template_source);
  return dict;
}

Value dict_function(Interpreter&, Arguments& arguments) { return Value::dict(make_dict(arguments)); }

Value namespace_function(Interpreter& interpreter, Arguments& arguments) {
  return interpreter.make_namespace(make_dict(arguments));
}

Value cycler_function(Interpreter&, Arguments& arguments) {
  if (!arguments.named.empty()) fail("cycler() takes no keyword arguments");
  if (arguments.positional.empty()) fail("at least one item has to be provided");
  return Value::object(std::make_shared<Cycler>(Value::tuple(arguments.positional)));
}

Value joiner_function(Interpreter&, Arguments& arguments) {
  const BoundArguments bound("joiner", arguments, {"sep"});
  return Value::object(std::make_shared<Joiner>(bound.value_or(0, Value::string(", ", Origin::template_source))));
}

Value raise_exception_function(Interpreter&, Arguments& arguments) {
  const BoundArguments bound("raise_exception", arguments, {"message"}, 1);
  throw TemplateFailure{to_text(bound[0]).bytes(), 0, true};
}

Value strftime_now_function(Interpreter& interpreter, Arguments& arguments) {
  const BoundArguments bound("strftime_now", arguments, {"format"}, 1);
  const Text& format = require_text(bound[0], "strftime() argument 1");
  return Value::text(format.derived(format_time(format.view(), interpreter.now())));
}

}  // namespace

const Value* find_global(std::string_view name) {
  static const std::unordered_map<std::string_view, Value> table = [] {
    std::unordered_map<std::string_view, Value> functions;
    const auto add = [&](std::string_view function_name, Function::Body body) {
      functions[function_name] = Value::object(std::make_shared<Function>(std::string(function_name), body));
    };
    add("range", range_function);
    add("dict", dict_function);
    add("namespace", namespace_function);
    add("cycler", cycler_function);
    add("joiner", joiner_function);
    add("raise_exception", raise_exception_function);
    add("strftime_now", strftime_now_function);
    return functions;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace takt::text::jinja
