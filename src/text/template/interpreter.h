// Runs a parsed template once.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "text/template/ast.h"
#include "text/template/limits.h"
#include "text/template/object.h"

namespace takt::text::jinja {

// The variables of one running function: the template, a macro call, one level of a recursive loop.
struct Activation {
  Activation(Activation* parent, uint32_t slot_count);
  ~Activation();
  Activation* const parent;  // of the function around this one in the source
  std::vector<Value> slots;
  bool captured = false;  // a macro refers to it: it lives until the render ends
};

class Macro : public Object {
 public:
  Macro(const MacroDefinition& code, Activation* around) : Object(ObjectType::macro), definition(code), home(around) {}
  std::string_view python_type() const override { return "Macro"; }
  std::string describe() override;
  const MacroDefinition& definition;
  Activation* const home;
};

// The `loop` variable.
class Loop : public Object {
 public:
  // `sized`: the iterable if it has a length of its own, else missing.
  Loop(Value sized, int held_depth, Iterator::Next next, int64_t depth0);
  std::string_view python_type() const override { return "LoopContext"; }
  std::string describe() override;

  std::optional<Value> advance();  // to the next item
  int64_t length();
  const std::optional<Value>& peek();
  // nullopt: no such attribute.
  std::optional<Value> attribute(std::string_view name);
  bool changed(std::vector<Value> values);

  int64_t index0 = -1;
  const int64_t depth0;
  const Statement* recursive_statement = nullptr;
  Activation* home = nullptr;  // where a recursive loop was started

 private:
  Value sized_;
  Iterator::Next next_;
  std::optional<int64_t> length_;
  bool peeked_ = false;
  std::optional<Value> after_, current_, before_, last_changed_;
};

class Interpreter {
 public:
  // All must outlive the interpreter.
  Interpreter(const TemplateTree& tree, const Dict& variables, const std::tm& now, const Limits& limits);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Throws TemplateFailure.
  Text run();
  int line() const { return line_; }  // of the node that was evaluated last

  // For filters, tests and functions.
  Value get_attribute(const Value& object, std::string_view name);
  Value get_item(const Value& object, const Value& key);
  Value call(const Value& callee, Arguments& arguments);
  Value call_filter(std::string_view name, const Value& value, Arguments& arguments);
  bool call_test(std::string_view name, const Value& value, Arguments& arguments);
  Value make_namespace(Dict values);
  const std::tm& now() const { return now_; }

 private:
  enum class Flow { normal, loop_break, loop_continue };
  class Running;  // makes an activation current, and gives it up at the end
  class Capture;  // collects output in a buffer

  // statements.cc
  Flow execute(const Body& body);
  Flow execute(const Statement& s);
  void execute_output(const Statement& s);
  Flow execute_if(const Statement& s);
  Flow execute_for(const Statement& s);
  Flow run_loop(const Statement& s, const Value& iterable, int64_t depth0, Activation* home);
  Iterator::Next filtered(const Statement& s, Iterator::Next next);
  Flow execute_capture(const Statement& s);
  Flow execute_with(const Statement& s);
  void enter_scope(const Scope& scope);
  void assign(const Expression& target, const Value& value);
  void unpack(const Expression& target, const Value& value);
  void check_namespace_targets(const Expression& target);
  void emit(const Text& text);

  // macros.cc
  Value make_macro(const MacroDefinition& definition);
  Value call_macro(const Macro& macro, Arguments& arguments);
  void bind_parameters(const MacroDefinition& definition, Arguments& arguments);
  void fill_defaults(const MacroDefinition& definition);
  Value call_loop(Loop& loop, Arguments& arguments);
  Value call_block(const Statement& s);

  // expressions.cc
  Value evaluate(const Expression& e);
  Value evaluate_name(const Expression& e);
  Value evaluate_items(const Expression& e);
  Value evaluate_dict(const Expression& e);
  Value evaluate_item(const Expression& e);
  Value evaluate_call(const Expression& e, const Value* caller);
  Value evaluate_filter(const Expression& e, const Value* block_text);
  Value evaluate_compare(const Expression& e);
  Value evaluate_concat(const Expression& e);
  Value evaluate_conditional(const Expression& e);
  Arguments evaluate_arguments(const CallArguments& arguments);

  // attributes.cc
  std::optional<Value> python_attribute(const Value& object, std::string_view name);

  Value& slot(SlotRef ref);

  const TemplateTree& tree_;
  const Dict& variables_;
  const std::tm now_;
  const Limits limits_;
  Activation root_;
  Activation* current_;
  std::vector<std::unique_ptr<Activation>> kept_;    // captured activations whose functions have returned
  std::vector<std::shared_ptr<Object>> namespaces_;  // emptied at the end: they may refer to each other
  Text* out_ = nullptr;
  size_t open_output_bytes_ = 0;  // in all buffers being written
  int depth_ = 0;
  int line_ = 0;
};

class Interpreter::Running {
 public:
  Running(Interpreter& interpreter, Activation* parent, uint32_t slot_count);
  ~Running();

 private:
  Interpreter& interpreter_;
  Activation* const caller_;
  std::unique_ptr<Activation> activation_;
};

class Interpreter::Capture {
 public:
  explicit Capture(Interpreter& interpreter)
      : interpreter_(interpreter), outer_(interpreter.out_), open_before_(interpreter.open_output_bytes_) {
    interpreter_.out_ = &text_;
  }
  ~Capture() {
    interpreter_.out_ = outer_;
    interpreter_.open_output_bytes_ = open_before_;
  }
  Text& text() { return text_; }

 private:
  Interpreter& interpreter_;
  Text* const outer_;
  const size_t open_before_;
  Text text_;
};

}  // namespace takt::text::jinja
