// What a template can name: filters, tests, global functions, and the methods of strings and containers.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "text/template/interpreter.h"
#include "text/template/object.h"

namespace takt::text::jinja {

using FilterFunction = Value (*)(Interpreter&, const Value&, Arguments&);
using TestFunction = bool (*)(Interpreter&, const Value&, Arguments&);

FilterFunction find_filter(std::string_view name);  // nullptr: none
TestFunction find_test(std::string_view name);
inline bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }
inline bool is_test(std::string_view name) { return find_test(name) != nullptr; }
const Value* find_global(std::string_view name);

// Does Python's str, list, dict, … have a method of this name?
bool has_method(const Value& object, std::string_view name);
// Would calling it change a list or dict? The sandbox forbids that.
bool is_mutator(const Value& object, std::string_view name);
Value call_method(Interpreter& interpreter, const BoundMethod& method, Arguments& arguments);
Value call_string_method(Interpreter& interpreter, const Value& self, std::string_view name, Arguments& arguments);

// Python's argument matching for a function with parameters `names`, the first `required` of which must be given.
class BoundArguments {
 public:
  BoundArguments(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> names,
                 size_t required = 0);
  bool has(size_t i) const { return values_[i] != nullptr; }
  // Precondition: has(i).
  const Value& operator[](size_t i) const { return *values_[i]; }
  Value value_or(size_t i, Value fallback) const { return has(i) ? *values_[i] : std::move(fallback); }
  bool flag(size_t i, bool fallback) const;
  // has(i) and not None
  bool given(size_t i) const { return has(i) && !values_[i]->is_none(); }
  int64_t integer(size_t i, int64_t fallback) const;

 private:
  std::vector<const Value*> values_;
};

// The text of an argument that must be a string.
const Text& require_text(const Value& value, std::string_view what);
// Text that templates may build without bound: fails when `bytes` more could not be held.
Value make_text(Text text, const Value& like);  // markup if `like` is

}  // namespace takt::text::jinja
