// The engine's own values: everything a template can hold that is not plain data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace takt::text::jinja {

class Interpreter;

// Arguments of a call, already evaluated.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find_named(std::string_view name) const;
  std::optional<Value> take_named(std::string_view name);
};

enum class ObjectType {
  undefined,
  namespace_object,
  macro,
  loop,
  range,
  iterator,
  dict_view,
  bound_method,
  function,
  cycler,
  joiner
};

class Object : public Rep {
 public:
  explicit Object(ObjectType type, int depth = 1);
  ~Object() override;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectType type() const { return type_; }
  int depth() const { return depth_; }
  virtual std::string_view python_type() const = 0;  // as in "'X' object is not iterable"
  // Python's repr(); the default stands for those that print an address.
  virtual std::string describe() { return "<" + std::string(python_type()) + " object>"; }

 private:
  ObjectType type_;
  int depth_;
};

// A name or attribute that does not exist: prints as nothing, is false and empty; any other use fails with `message`.
class Undefined : public Object {
 public:
  explicit Undefined(std::string message) : Object(ObjectType::undefined), message_(std::move(message)) {}
  std::string_view python_type() const override { return "Undefined"; }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

Value make_undefined(std::string message);
Value undefined_name(std::string_view name);
// Python: environment.undefined(obj=…, name=…).
Value undefined_member(const Value& object, const Value& name);
Value undefined_attribute(const Value& object, std::string_view name);

// The only mutable value: {% set ns.x = … %}.
class Namespace : public Object {
 public:
  Namespace() : Object(ObjectType::namespace_object, 0) {}
  std::string_view python_type() const override { return "Namespace"; }
  Dict values;
};

class Range : public Object {
 public:
  Range(int64_t from, int64_t to, int64_t by) : Object(ObjectType::range), start(from), stop(to), step(by) {}
  std::string_view python_type() const override { return "range"; }
  int64_t length() const;
  const int64_t start, stop, step;
};

// A one-pass stream of values: what map, select, reversed, … return in Python.
class Iterator : public Object {
 public:
  // `next` returns nullopt at the end. `held_depth`: depth of the values that `next` keeps alive.
  using Next = std::function<std::optional<Value>()>;
  Iterator(std::string_view python_type, int held_depth, Next next)
      : Object(ObjectType::iterator, held_depth + 1), python_type_(python_type), next_(std::move(next)) {}
  std::string_view python_type() const override { return python_type_; }
  std::optional<Value> next();

 private:
  std::string_view python_type_;
  Next next_;
  bool finished_ = false;
};

Value make_iterator(std::string_view python_type, int held_depth, Iterator::Next next);

class DictView : public Object {
 public:
  enum class Part { keys, values, items };
  DictView(Value of, Part which) : Object(ObjectType::dict_view, of.depth() + 1), dict(std::move(of)), part(which) {}
  std::string_view python_type() const override;
  Value at(size_t index) const;
  const Value dict;
  const Part part;
};

// A method found by attribute access: "abc".upper, message.items, loop.cycle.
class BoundMethod : public Object {
 public:
  BoundMethod(Value object, std::string method)
      : Object(ObjectType::bound_method, object.depth() + 1), self(std::move(object)), name(std::move(method)) {}
  std::string_view python_type() const override { return "builtin_function_or_method"; }
  const Value self;
  const std::string name;
};

class Function : public Object {
 public:
  using Body = Value (*)(Interpreter&, Arguments&);
  Function(std::string called, Body code) : Object(ObjectType::function), name(std::move(called)), body(code) {}
  std::string_view python_type() const override { return "function"; }
  const std::string name;
  const Body body;
};

class Cycler : public Object {
 public:
  explicit Cycler(Value tuple) : Object(ObjectType::cycler, tuple.depth() + 1), items(std::move(tuple)) {}
  std::string_view python_type() const override { return "Cycler"; }
  const Value items;  // a non-empty tuple
  size_t position = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value text) : Object(ObjectType::joiner, text.depth() + 1), separator(std::move(text)) {}
  std::string_view python_type() const override { return "Joiner"; }
  const Value separator;
  bool used = false;
};

// The object `value` holds if it is of type T, else nullptr.
template <class T>
T* object_cast(const Value& value, ObjectType type) {
  Object* const object = value.is_object() ? value.as_object() : nullptr;
  return object != nullptr && object->type() == type ? static_cast<T*>(object) : nullptr;
}

}  // namespace takt::text::jinja
