// Interpreter: statements.
#include "text/template/interpreter.h"
#include "text/template/token_stream.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {

using Kind = Statement::Kind;

namespace {

// What a filter or call block yields goes to the output as it is, so it must be text.
const Text& require_output(const Value& value) {
  if (!value.is_string()) fail("expected str instance, " + std::string(type_name(value)) + " found");
  return value.as_text();
}

}  // namespace

Interpreter::Flow Interpreter::execute(const Body& body) {
  for (const StatementPtr& statement : body) {
    const Flow flow = execute(*statement);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute(const Statement& s) {
  const DepthGuard guard(depth_, kEvaluateDepthMax, s.line);
  Budget::step();
  line_ = s.line;
  switch (s.kind) {
    case Kind::output: execute_output(s); break;
    case Kind::if_chain: return execute_if(s);
    case Kind::for_loop: return execute_for(s);
    case Kind::set: {
      const Value value = (check_namespace_targets(*s.target), evaluate(*s.expression));
      assign(*s.target, value);
      break;
    }
    case Kind::set_block:
    case Kind::filter_block: return execute_capture(s);
    case Kind::with: return execute_with(s);
    case Kind::macro: slot(s.target->slot) = make_macro(*s.macro); break;
    case Kind::call_block:
    case Kind::generation: emit(require_output(call_block(s))); break;
    case Kind::loop_break: return Flow::loop_break;
    case Kind::loop_continue: return Flow::loop_continue;
  }
  return Flow::normal;
}

void Interpreter::emit(const Text& text) {
  constexpr size_t kPerPieceBytes = 16;  // an origin that flips costs memory too
  open_output_bytes_ += text.size() + kPerPieceBytes;
  Budget::work(text.size());
  if (open_output_bytes_ > limits_.output_bytes) {
    fail("the template renders more than " + std::to_string(limits_.output_bytes) + " bytes");
  }
  out_->append(text);
}

void Interpreter::execute_output(const Statement& s) {
  for (const Statement::Piece& piece : s.pieces) {
    if (piece.expression)
      emit(to_text(evaluate(*piece.expression)));
    else
      emit(piece.data);
  }
}

Interpreter::Flow Interpreter::execute_if(const Statement& s) {
  for (const Statement::Branch& branch : s.branches) {
    if (!branch.test || truthy(evaluate(*branch.test))) return execute(branch.body);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_for(const Statement& s) {
  const Value iterable = evaluate(*s.expression);
  if (!s.recursive) return run_loop(s, iterable, 0, nullptr);
  Text text;
  {
    Activation* const home = current_;
    const Running running(*this, home, s.slot_count);
    Capture capture(*this);
    run_loop(s, iterable, 0, home);
    text = std::move(capture.text());
  }
  emit(text);
  return Flow::normal;
}

// The items that pass "for … if test". The test has variables of its own, set up now, in the activation of the loop; it
// may be drawn from elsewhere (loop.last within a call block), and as late as the render's end.
Iterator::Next Interpreter::filtered(const Statement& s, Iterator::Next next) {
  enter_scope(s.test_scope);
  Activation* const home = current_;
  home->captured = true;
  return [this, &s, home, next = std::move(next)]() -> std::optional<Value> {
    struct Restore {
      Activation*& current;
      Activation* const before;
      ~Restore() { current = before; }
    } const restore{current_, current_};
    current_ = home;
    while (std::optional<Value> item = next()) {
      Budget::step();
      assign(*s.test_target, *item);
      if (!truthy(evaluate(*s.test))) continue;
      const bool repack = s.test_target->kind == Expression::Kind::tuple && !item->is_tuple();
      return repack ? Value::tuple(to_vector(*item)) : item;
    }
    return std::nullopt;
  };
}

Interpreter::Flow Interpreter::run_loop(const Statement& s, const Value& iterable, int64_t depth0, Activation* home) {
  Iterator::Next next = stream(iterable);
  if (s.test) next = filtered(s, std::move(next));
  std::shared_ptr<Loop> loop;
  if (s.extended) {
    const bool sized = !s.test && length(iterable).has_value();
    loop = std::make_shared<Loop>(sized ? iterable : Value::missing(), iterable.depth(), std::move(next), depth0);
    if (s.recursive) loop->recursive_statement = &s;
    loop->home = home;
    if (home != nullptr) home->captured = true;
  }
  bool empty = true;
  while (std::optional<Value> item = loop ? loop->advance() : next()) {
    Budget::step();
    assign(*s.target, *item);
    if (loop) current_->slots[s.loop_slot] = Value::object(loop);
    enter_scope(s.scope);
    const Flow flow = execute(s.body);
    if (flow == Flow::loop_break) break;
    // As in jinja2, a round that continue or break ended does not count: after such rounds only, else runs.
    if (flow == Flow::normal) empty = false;
    line_ = s.line;
  }
  if (empty && !s.else_body.empty()) {
    enter_scope(s.else_scope);
    return execute(s.else_body);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_capture(const Statement& s) {
  Value text;
  {
    Capture capture(*this);
    enter_scope(s.scope);
    const Flow flow = execute(s.body);
    if (flow != Flow::normal) return flow;
    text = Value::text(std::move(capture.text()));
  }
  if (s.expression) text = evaluate_filter(*s.expression, &text);
  if (s.kind == Kind::set_block) {
    check_namespace_targets(*s.target);
    assign(*s.target, text);
  } else {
    emit(require_output(text));
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_with(const Statement& s) {
  enter_scope(s.scope);
  for (size_t i = 0; i < s.targets.size(); ++i) assign(*s.targets[i], evaluate(*s.values[i]));
  return execute(s.body);
}

void Interpreter::check_namespace_targets(const Expression& target) {
  if (target.kind == Expression::Kind::namespace_target &&
      object_cast<Namespace>(slot(target.slot), ObjectType::namespace_object) == nullptr) {
    fail("cannot assign attribute on non-namespace object");
  }
  for_each_child(target, [this](const Expression& child) { check_namespace_targets(child); });
}

void Interpreter::assign(const Expression& target, const Value& value) {
  switch (target.kind) {
    case Expression::Kind::name: slot(target.slot) = value; return;
    case Expression::Kind::namespace_target: {
      auto* const object = object_cast<Namespace>(slot(target.slot), ObjectType::namespace_object);
      if (object == nullptr) fail("cannot assign attribute on non-namespace object");
      Budget::charge(target.member.size() + 2 * sizeof(Value));
      object->values.set(std::string_view(target.member), value, Origin::template_source);
      return;
    }
    default: unpack(target, value);
  }
}

void Interpreter::unpack(const Expression& target, const Value& value) {
  if (!is_iterable(value)) fail("cannot unpack non-iterable " + std::string(type_name(value)) + " object");
  const size_t expected = target.items.size();
  std::vector<Value> items;
  iterate(value, [&](const Value& item) {
    items.push_back(item);
    return items.size() <= expected;
  });
  if (items.size() > expected) fail("too many values to unpack (expected " + std::to_string(expected) + ")");
  if (items.size() < expected) {
    fail("not enough values to unpack (expected " + std::to_string(expected) + ", got " + std::to_string(items.size()) +
         ")");
  }
  for (size_t i = 0; i < expected; ++i) assign(*target.items[i], items[i]);
}

}  // namespace takt::text::jinja
