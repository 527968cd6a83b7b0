#include "text/template/interpreter.h"

#include "text/template/builtins.h"
#include "text/template/token_stream.h"

namespace takt::text::jinja {
namespace {
size_t activation_bytes(size_t slot_count) { return sizeof(Activation) + slot_count * sizeof(Value); }
}  // namespace

Activation::Activation(Activation* parent_, uint32_t slot_count) : parent(parent_) {
  Budget::charge(activation_bytes(slot_count));
  slots.assign(slot_count, Value::missing());
}
Activation::~Activation() { Budget::release(activation_bytes(slots.size())); }

Interpreter::Interpreter(const TemplateTree& tree, const Dict& variables, const std::tm& now, const Limits& limits)
    : tree_(tree),
      variables_(variables),
      now_(now),
      limits_(limits),
      root_(nullptr, tree.slot_count),
      current_(&root_) {}

Interpreter::~Interpreter() {
  // Macros, activations and namespaces may form cycles and long chains: cut every link before anything is freed.
  for (Value& value : root_.slots) value = Value();
  for (const auto& activation : kept_) {
    for (Value& value : activation->slots) value = Value();
  }
  for (const auto& object : namespaces_) static_cast<Namespace&>(*object).values.clear();
}

Text Interpreter::run() {
  Capture capture(*this);
  enter_scope(tree_.scope);
  execute(tree_.body);
  return std::move(capture.text());
}

Value& Interpreter::slot(SlotRef ref) {
  Activation* activation = current_;
  for (uint32_t i = 0; i < ref.hops; ++i) activation = activation->parent;
  return activation->slots[ref.slot];
}

void Interpreter::enter_scope(const Scope& scope) {
  for (const LoadStep& step : scope) {
    Value& target = current_->slots[step.slot];
    switch (step.kind) {
      case LoadStep::Kind::parameter: break;
      case LoadStep::Kind::undefined: target = Value::missing(); break;
      case LoadStep::Kind::alias: target = slot(step.source); break;
      case LoadStep::Kind::from_context: {
        const Value* found = variables_.find(std::string_view(step.name));
        if (found == nullptr) found = find_global(step.name);
        target = found != nullptr ? *found : Value::missing();
        break;
      }
    }
  }
}

Value Interpreter::make_namespace(Dict values) {
  auto object = std::make_shared<Namespace>();
  object->values = std::move(values);
  namespaces_.push_back(object);
  return Value::object(std::move(object));
}

Value Interpreter::call_filter(std::string_view name, const Value& value, Arguments& arguments) {
  const DepthGuard guard(depth_, kEvaluateDepthMax, line_);
  const FilterFunction filter = find_filter(name);
  if (filter == nullptr) fail("No filter named '" + std::string(name) + "' found.");
  return filter(*this, value, arguments);
}

bool Interpreter::call_test(std::string_view name, const Value& value, Arguments& arguments) {
  const TestFunction test = find_test(name);
  if (test == nullptr) fail("No test named '" + std::string(name) + "' found.");
  return test(*this, value, arguments);
}

Interpreter::Running::Running(Interpreter& interpreter, Activation* parent, uint32_t slot_count)
    : interpreter_(interpreter),
      caller_(interpreter.current_),
      activation_(std::make_unique<Activation>(parent, slot_count)) {
  interpreter_.current_ = activation_.get();
}

Interpreter::Running::~Running() {
  interpreter_.current_ = caller_;
  if (activation_->captured) interpreter_.kept_.push_back(std::move(activation_));
}

}  // namespace takt::text::jinja
