// Interpreter: expressions.
#include "text/template/interpreter.h"
#include "text/template/token_stream.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

using Kind = Expression::Kind;

bool compare(CompareOperator op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOperator::equal: return equals(a, b);
    case CompareOperator::not_equal: return !equals(a, b);
    case CompareOperator::less: return ordered(a, b, Order::less);
    case CompareOperator::less_equal: return ordered(a, b, Order::less_equal);
    case CompareOperator::greater: return ordered(a, b, Order::greater);
    case CompareOperator::greater_equal: return ordered(a, b, Order::greater_equal);
    case CompareOperator::in: return contains(b, a);
    default: return !contains(b, a);
  }
}

}  // namespace

Value Interpreter::evaluate(const Expression& e) {
  const DepthGuard guard(depth_, kEvaluateDepthMax, e.line);
  Budget::step();
  line_ = e.line;
  switch (e.kind) {
    case Kind::constant: return e.constant;
    case Kind::name: return evaluate_name(e);
    case Kind::tuple:
    case Kind::list: return evaluate_items(e);
    case Kind::dict: return evaluate_dict(e);
    case Kind::attribute: return get_attribute(evaluate(*e.operand), e.name);
    case Kind::item: return evaluate_item(e);
    case Kind::call: return evaluate_call(e, nullptr);
    case Kind::filter: return evaluate_filter(e, nullptr);
    case Kind::test: {
      const Value value = evaluate(*e.operand);
      Arguments arguments = evaluate_arguments(*e.arguments);
      return Value::boolean(call_test(e.name, value, arguments));
    }
    case Kind::binary: {
      const Value left = evaluate(*e.items[0]);
      const Value right = evaluate(*e.items[1]);
      line_ = e.line;
      return binary(e.op, left, right);
    }
    case Kind::negate: return negate(evaluate(*e.operand));
    case Kind::positive: return positive(evaluate(*e.operand));
    case Kind::logical_not: return Value::boolean(!truthy(evaluate(*e.operand)));
    case Kind::logical_and:
    case Kind::logical_or: {
      Value left = evaluate(*e.items[0]);
      return truthy(left) == (e.kind == Kind::logical_or) ? left : evaluate(*e.items[1]);
    }
    case Kind::compare: return evaluate_compare(e);
    case Kind::concat: return evaluate_concat(e);
    case Kind::conditional: return evaluate_conditional(e);
    case Kind::slice:
    case Kind::namespace_target: break;
  }
  fail("this expression has no value", e.line);
}

Value Interpreter::evaluate_name(const Expression& e) {
  const Value& value = slot(e.slot);
  return value.is_missing() ? undefined_name(e.name) : value;
}

Value Interpreter::evaluate_items(const Expression& e) {
  std::vector<Value> items;
  items.reserve(e.items.size());
  for (const ExpressionPtr& item : e.items) items.push_back(evaluate(*item));
  return e.kind == Kind::tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value Interpreter::evaluate_dict(const Expression& e) {
  Dict dict;
  for (size_t i = 0; i + 1 < e.items.size(); i += 2) {
    Value key = evaluate(*e.items[i]);
    dict.set(std::move(key), evaluate(*e.items[i + 1]));
  }
  return Value::dict(std::move(dict));
}

Value Interpreter::evaluate_item(const Expression& e) {
  const Value object = evaluate(*e.operand);
  const Expression& key = *e.items[0];
  if (key.kind != Kind::slice) return get_item(object, evaluate(key));
  const auto bound = [&](size_t i) { return key.items[i] ? evaluate(*key.items[i]) : Value(); };
  const Value start = bound(0), stop = bound(1), step = bound(2);
  return slice(object, start, stop, step);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& from) {
  Arguments arguments;
  for (const ExpressionPtr& argument : from.positional) arguments.positional.push_back(evaluate(*argument));
  for (const auto& [name, argument] : from.named) arguments.named.emplace_back(name, evaluate(*argument));
  if (from.spread_positional) {
    const Value spread = evaluate(*from.spread_positional);
    iterate(spread, [&](const Value& item) {
      arguments.positional.push_back(item);
      return true;
    });
  }
  if (from.spread_named) {
    const Value spread = evaluate(*from.spread_named);
    if (!spread.is_dict()) fail("argument after ** must be a mapping, not " + std::string(type_name(spread)));
    for (const auto& [key, value] : spread.as_dict().entries()) {
      if (!key.is_string()) fail("keywords must be strings");
      if (arguments.find_named(key.as_text().view()) != nullptr) {
        fail("got multiple values for keyword argument " + repr(key));
      }
      arguments.named.emplace_back(key.as_text().bytes(), value);
    }
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Expression& e, const Value* caller) {
  const Value callee = evaluate(*e.operand);
  Arguments arguments = evaluate_arguments(*e.arguments);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  line_ = e.line;
  return call(callee, arguments);
}

Value Interpreter::evaluate_filter(const Expression& e, const Value* block_text) {
  // A chain in a filter block nests: the innermost filter has no operand and takes the block's text.
  const Value value = e.operand == nullptr ? *block_text
                      : block_text != nullptr && e.operand->kind == Kind::filter
                          ? evaluate_filter(*e.operand, block_text)
                          : evaluate(*e.operand);
  Arguments arguments = evaluate_arguments(*e.arguments);
  line_ = e.line;
  return call_filter(e.name, value, arguments);
}

Value Interpreter::evaluate_compare(const Expression& e) {
  Value left = evaluate(*e.operand);
  for (size_t i = 0; i < e.items.size(); ++i) {
    Value right = evaluate(*e.items[i]);
    line_ = e.line;
    if (!compare(e.compare_operators[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_concat(const Expression& e) {
  std::vector<Value> parts;
  for (const ExpressionPtr& item : e.items) parts.push_back(evaluate(*item));
  Text text;
  for (const Value& part : parts) {
    text.append(to_text(part));
    Budget::require(text.size());
  }
  return Value::text(std::move(text));
}

Value Interpreter::evaluate_conditional(const Expression& e) {
  if (truthy(evaluate(*e.operand))) return evaluate(*e.items[0]);
  if (e.items[1]) return evaluate(*e.items[1]);
  return make_undefined("the inline if-expression on line " + std::to_string(e.line) +
                        " evaluated to false and no else section was defined.");
}

}  // namespace takt::text::jinja
