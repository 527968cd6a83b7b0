// The parsed template. Expressions and statements are plain nodes with a kind; names have been resolved to slots by the
// time a template runs (see scope.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/value.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

// Where a variable lives: `hops` functions outwards (a macro is a function within the one that defines it), then a slot.
struct SlotRef {
  uint32_t hops = 0;
  uint32_t slot = 0;
};

// What a scope does when it is entered, for each of its variables.
struct LoadStep {
  enum class Kind : uint8_t { parameter, from_context, alias, undefined };
  Kind kind;
  uint32_t slot;
  std::string name;  // from_context
  SlotRef source;    // alias
};
using Scope = std::vector<LoadStep>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr spread_positional, spread_named;  // *a, **b
};

enum class CompareOperator : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

struct Expression {
  enum class Kind : uint8_t {
    constant,
    name,
    namespace_target,
    tuple,
    list,
    dict,  // dict: items alternate key, value
    attribute,
    item,
    slice,  // slice: items are start, stop, step (null: absent), only as the key of an item
    call,
    filter,
    test,
    binary,
    negate,
    positive,
    logical_not,
    logical_and,
    logical_or,
    compare,
    concat,
    conditional
  };
  enum class Use : uint8_t { load, store, parameter };  // of a name

  Kind kind;
  int line;
  int height = 1;  // of the tree below, so that its depth is bounded
  Use use = Use::load;
  BinaryOperator op = BinaryOperator::add;
  std::string name;    // name, namespace_target, attribute, filter, test
  std::string member;  // namespace_target: what stands after the dot
  Value constant;
  ExpressionPtr
      operand;  // attribute, item, call, filter (null in a filter block), test, unary, compare, conditional: its test
  std::vector<ExpressionPtr> items;
  std::vector<CompareOperator> compare_operators;  // one per item
  std::unique_ptr<CallArguments> arguments;        // call, filter, test
  SlotRef slot;                                    // name, namespace_target
};

// A piece of code that is called: a macro, the body of a call block.
struct MacroDefinition {
  std::string name;  // empty for a call block
  std::vector<ExpressionPtr> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;
  Scope scope;
  uint32_t slot_count = 0;
  std::vector<uint32_t> parameter_slots;
  bool explicit_caller = false, uses_caller = false, uses_kwargs = false, uses_varargs = false;
  uint32_t caller_slot = 0, kwargs_slot = 0, varargs_slot = 0;
};

struct Statement {
  enum class Kind : uint8_t {
    output,
    for_loop,
    if_chain,
    macro,
    call_block,
    generation,
    filter_block,
    with,
    set,
    set_block,
    loop_break,
    loop_continue
  };
  // One data or expression piece of an output statement.
  struct Piece {
    Text data;
    ExpressionPtr expression;  // null: data
  };
  struct Branch {
    ExpressionPtr test;  // null: else
    Body body;
  };

  Kind kind;
  int line;
  std::vector<Piece> pieces;  // output
  ExpressionPtr target, expression,
      test;                   // for: target, iterable, filter; set: target, value; macro: target (its name);
                              // call_block: the call;
                              // filter_block and set_block: the filter
  ExpressionPtr test_target;  // for with a filter: the target in the scope of the filter
  Body body, else_body;
  bool recursive = false, extended = false;    // for: has a `loop` variable
  std::vector<Branch> branches;                // if_chain
  std::vector<ExpressionPtr> targets, values;  // with
  std::unique_ptr<MacroDefinition> macro;      // macro, call_block, generation
  Scope scope, else_scope, test_scope;         // for: of the body, the else branch, the filter
  uint32_t loop_slot = 0;                      // for, when extended
  uint32_t slot_count = 0;                     // for, when recursive: the loop is a function of its own
};

struct TemplateTree {
  Body body;
  Scope scope;
  uint32_t slot_count = 0;
};

ExpressionPtr make_expression(Expression::Kind kind, int line);
// Sets the height of a node whose children are complete, and bounds it: a chain a + b + c … is a deep tree although the
// parser did not recurse for it.
ExpressionPtr finish_expression(ExpressionPtr node);

// Calls `visit` with each direct child expression, in the order of jinja2's node fields.
template <class Visit>
void for_each_child(const Expression& e, const Visit& visit) {
  if (e.operand) visit(*e.operand);
  for (const ExpressionPtr& item : e.items) {
    if (item) visit(*item);
  }
  if (!e.arguments) return;
  for (const ExpressionPtr& argument : e.arguments->positional) visit(*argument);
  for (const auto& [name, argument] : e.arguments->named) visit(*argument);
  if (e.arguments->spread_positional) visit(*e.arguments->spread_positional);
  if (e.arguments->spread_named) visit(*e.arguments->spread_named);
}

}  // namespace takt::text::jinja
