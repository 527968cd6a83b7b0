// Interpreter: obj.name, obj[key] and calls, by the rules of jinja2's sandbox.
#include "text/template/builtins.h"
#include "text/template/interpreter.h"
#include "text/template/token_stream.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

std::string quoted(std::string_view text) { return repr(Value::string(std::string(text), Origin::template_source)); }

Value unsafe(const Value& object, std::string_view name) {
  return make_undefined("access to attribute " + quoted(name) + " of " + quoted(type_name(object)) +
                        " object is unsafe.");
}

// Every Python object has these; the sandbox hides them.
bool is_dunder(std::string_view name) { return name.size() > 4 && name.starts_with("__") && name.ends_with("__"); }

std::optional<Value> macro_attribute(const Macro& macro, std::string_view name) {
  const MacroDefinition& definition = macro.definition;
  if (name == "name") {
    return definition.name.empty() ? Value() : Value::string(definition.name, Origin::template_source);
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const ExpressionPtr& parameter : definition.parameters) {
      names.push_back(Value::string(parameter->name, Origin::template_source));
    }
    return Value::tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value::boolean(definition.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition.uses_varargs);
  if (name == "caller") return Value::boolean(definition.uses_caller);
  return std::nullopt;
}

std::optional<Value> object_attribute(const Value& object, std::string_view name) {
  Object* const held = object.as_object();
  switch (held->type()) {
    case ObjectType::namespace_object: {
      const Value* const found = static_cast<Namespace&>(*held).values.find(name);
      return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
    }
    case ObjectType::loop: return static_cast<Loop&>(*held).attribute(name);
    case ObjectType::macro: return macro_attribute(static_cast<Macro&>(*held), name);
    case ObjectType::range: {
      const auto& range = static_cast<Range&>(*held);
      if (name == "start") return Value::integer(range.start);
      if (name == "stop") return Value::integer(range.stop);
      if (name == "step") return Value::integer(range.step);
      return std::nullopt;
    }
    case ObjectType::cycler: {
      const auto& cycler = static_cast<Cycler&>(*held);
      if (name == "items") return cycler.items;
      if (name == "pos") return Value::integer(static_cast<int64_t>(cycler.position));
      if (name == "current") return cycler.items.items()[cycler.position];
      return std::nullopt;
    }
    case ObjectType::joiner: {
      const auto& joiner = static_cast<Joiner&>(*held);
      if (name == "sep") return joiner.separator;
      if (name == "used") return Value::boolean(joiner.used);
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<Value> number_attribute(const Value& number, std::string_view name) {
  if (name == "real") return number.is_boolean() ? Value::integer(number.as_integer()) : number;
  if (name == "imag") return number.is_real() ? Value::real(0) : Value::integer(0);
  if (number.is_real()) return std::nullopt;
  if (name == "numerator") return Value::integer(number.as_integer());
  if (name == "denominator") return Value::integer(1);
  return std::nullopt;
}

}  // namespace

// What Python's getattr finds; the sandbox's verdict is part of it.
std::optional<Value> Interpreter::python_attribute(const Value& object, std::string_view name) {
  std::optional<Value> found;
  if (object.is_object()) found = object_attribute(object, name);
  if (object.is_number()) found = number_attribute(object, name);
  if (object.is_group() && name == "grouper") found = object.items()[0];
  if (object.is_group() && name == "list") found = object.items()[1];
  const bool exists = found || is_dunder(name) || has_method(object, name);
  if (!exists) return std::nullopt;
  if (name.starts_with("_") || is_mutator(object, name)) return unsafe(object, name);
  if (!found) found = Value::object(std::make_shared<BoundMethod>(object, std::string(name)));
  return found;
}

Value Interpreter::get_attribute(const Value& object, std::string_view name) {
  require_defined(object);
  if (std::optional<Value> found = python_attribute(object, name)) return *std::move(found);
  if (object.is_dict()) {
    if (const Value* const member = object.as_dict().find(name)) return *member;
  }
  return undefined_attribute(object, name);
}

Value Interpreter::get_item(const Value& object, const Value& key) {
  require_defined(object);
  if (std::optional<Value> found = subscript(object, key)) return *std::move(found);
  if (key.is_string()) {
    if (std::optional<Value> found = python_attribute(object, key.as_text().view())) return *std::move(found);
  }
  return undefined_member(object, key);
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  const DepthGuard guard(depth_, kEvaluateDepthMax, line_);
  if (callee.is_object()) {
    const std::shared_ptr<Object> held = callee.share_object();
    switch (held->type()) {
      case ObjectType::undefined: fail_undefined(callee);
      case ObjectType::macro: return call_macro(static_cast<Macro&>(*held), arguments);
      case ObjectType::loop: return call_loop(static_cast<Loop&>(*held), arguments);
      case ObjectType::bound_method: return call_method(*this, static_cast<BoundMethod&>(*held), arguments);
      case ObjectType::function: return static_cast<Function&>(*held).body(*this, arguments);
      case ObjectType::joiner: {
        auto& joiner = static_cast<Joiner&>(*held);
        if (joiner.used) return joiner.separator;
        joiner.used = true;
        return Value::string("", Origin::template_source);
      }
      default: break;
    }
  }
  fail("'" + std::string(type_name(callee)) + "' object is not callable");
}

}  // namespace takt::text::jinja
