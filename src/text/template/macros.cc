// Interpreter: macros, call blocks, recursive loops.
#include <algorithm>

#include "text/template/interpreter.h"
#include "text/template/token_stream.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

std::string quoted(std::string_view name) {
  return name.empty() ? "None" : repr(Value::string(std::string(name), Origin::template_source));
}

}  // namespace

std::string Macro::describe() {
  return "<Macro " + (definition.name.empty() ? "anonymous" : quoted(definition.name)) + ">";
}

Value Interpreter::make_macro(const MacroDefinition& definition) {
  current_->captured = true;
  return Value::object(std::make_shared<Macro>(definition, current_));
}

Value Interpreter::call_macro(const Macro& macro, Arguments& arguments) {
  const Running running(*this, macro.home, macro.definition.slot_count);
  Capture capture(*this);
  bind_parameters(macro.definition, arguments);
  enter_scope(macro.definition.scope);
  fill_defaults(macro.definition);
  execute(macro.definition.body);
  return Value::text(std::move(capture.text()));
}

void Interpreter::bind_parameters(const MacroDefinition& definition, Arguments& arguments) {
  std::vector<Value>& slots = current_->slots;
  const size_t count = definition.parameters.size();
  const size_t positional = std::min(arguments.positional.size(), count);
  for (size_t i = 0; i < positional; ++i) slots[definition.parameter_slots[i]] = arguments.positional[i];
  bool found_caller = positional == count && definition.explicit_caller;
  for (size_t i = positional; i < count; ++i) {
    const std::string& name = definition.parameters[i]->name;
    slots[definition.parameter_slots[i]] = arguments.take_named(name).value_or(Value::missing());
    found_caller = found_caller || name == "caller";
  }
  if (definition.uses_caller && !found_caller) {
    const Value caller = arguments.take_named("caller").value_or(Value());
    if (!definition.explicit_caller) {
      slots[definition.caller_slot] = caller.is_none() ? make_undefined("No caller defined") : caller;
    }
  }
  if (definition.uses_kwargs) {
    Dict named;
    for (auto& [name, value] : arguments.named) named.set(name, std::move(value), Origin::template_source);
    slots[definition.kwargs_slot] = Value::dict(std::move(named));
  } else if (!arguments.named.empty()) {
    if (arguments.find_named("caller") != nullptr) {
      fail("macro " + quoted(definition.name) +
           " was invoked with two values for the special caller argument. This is most likely a bug.");
    }
    fail("macro " + quoted(definition.name) + " takes no keyword argument " + quoted(arguments.named[0].first));
  }
  if (definition.uses_varargs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(positional),
                            arguments.positional.end());
    slots[definition.varargs_slot] = Value::tuple(std::move(rest));
  } else if (arguments.positional.size() > count) {
    fail("macro " + quoted(definition.name) + " takes not more than " + std::to_string(count) + " argument(s)");
  }
}

void Interpreter::fill_defaults(const MacroDefinition& definition) {
  const size_t without_default = definition.parameters.size() - definition.defaults.size();
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const uint32_t at = definition.parameter_slots[i];
    if (!current_->slots[at].is_missing()) continue;
    Value value = i < without_default
                      ? make_undefined("parameter " + quoted(definition.parameters[i]->name) + " was not provided")
                      : evaluate(*definition.defaults[i - without_default]);
    current_->slots[at] = std::move(value);
  }
}

Value Interpreter::call_block(const Statement& s) {
  const Value body = make_macro(*s.macro);
  if (s.kind == Statement::Kind::generation) {
    Arguments none;
    return call(body, none);
  }
  return evaluate_call(*s.expression, &body);
}

Value Interpreter::call_loop(Loop& loop, Arguments& arguments) {
  if (loop.recursive_statement == nullptr) {
    fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.named.empty()) fail("a recursive loop takes one iterable");
  const Statement& s = *loop.recursive_statement;
  const Running running(*this, loop.home, s.slot_count);
  Capture capture(*this);
  run_loop(s, arguments.positional[0], loop.depth0 + 1, loop.home);
  return Value::text(std::move(capture.text()));
}

Loop::Loop(Value sized, int held_depth, Iterator::Next next, int64_t depth0_)
    : Object(ObjectType::loop, held_depth + 1), depth0(depth0_), sized_(std::move(sized)), next_(std::move(next)) {}

std::string Loop::describe() {
  return "<LoopContext " + std::to_string(index0 + 1) + "/" + std::to_string(length()) + ">";
}

const std::optional<Value>& Loop::peek() {
  if (!peeked_) {
    after_ = next_();
    peeked_ = true;
  }
  return after_;
}

std::optional<Value> Loop::advance() {
  peek();
  peeked_ = false;
  std::optional<Value> item = std::move(after_);
  if (!item) return std::nullopt;
  ++index0;
  before_ = std::move(current_);
  current_ = item;
  return item;
}

int64_t Loop::length() {
  if (length_) return *length_;
  if (!sized_.is_missing()) {
    length_ = require_length(sized_);
    return *length_;
  }
  std::vector<Value> rest;
  while (std::optional<Value> item = next_()) {
    Budget::step();
    rest.push_back(std::move(*item));
  }
  length_ = static_cast<int64_t>(rest.size()) + index0 + 1 + (peeked_ && after_ ? 1 : 0);
  next_ = stream(Value::list(std::move(rest)));
  return *length_;
}

std::optional<Value> Loop::attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0);
  if (name == "index") return Value::integer(index0 + 1);
  if (name == "first") return Value::boolean(index0 == 0);
  if (name == "last") return Value::boolean(!peek().has_value());
  if (name == "length") return Value::integer(length());
  if (name == "revindex0") return Value::integer(length() - index0 - 1);
  if (name == "revindex") return Value::integer(length() - index0);
  if (name == "depth") return Value::integer(depth0 + 1);
  if (name == "depth0") return Value::integer(depth0);
  if (name == "previtem") return index0 == 0 ? make_undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? peek() : make_undefined("there is no next item");
  return std::nullopt;
}

bool Loop::changed(std::vector<Value> values) {
  Value tuple = Value::tuple(std::move(values));
  if (last_changed_ && equals(*last_changed_, tuple)) return false;
  last_changed_ = std::move(tuple);
  return true;
}

}  // namespace takt::text::jinja
