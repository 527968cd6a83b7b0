#include "text/template/tree_walk.h"

#include <functional>

#include "text/template/limits.h"

namespace takt::text::jinja {
namespace {

using Kind = Statement::Kind;
using Visit = std::function<void(const Expression&)>;  // called for every expression node

void walk(const Expression& e, const Visit& visit) {
  Budget::step();  // nested loops and macros are walked once per level
  visit(e);
  for_each_child(e, [&](const Expression& child) { walk(child, visit); });
}

void walk_optional(const ExpressionPtr& e, const Visit& visit) {
  if (e) walk(*e, visit);
}

void walk(const Statement& s, const Visit& visit);

void walk(const Body& body, const Visit& visit) {
  for (const StatementPtr& statement : body) walk(*statement, visit);
}

void walk_macro(const MacroDefinition& macro, const Visit& visit) {
  for (const ExpressionPtr& parameter : macro.parameters) walk(*parameter, visit);
  for (const ExpressionPtr& value : macro.defaults) walk(*value, visit);
  walk(macro.body, visit);
}

// In the order of jinja2's node fields, which decides what counts as read before set.
void walk(const Statement& s, const Visit& visit) {
  switch (s.kind) {
    case Kind::output:
      for (const Statement::Piece& piece : s.pieces) walk_optional(piece.expression, visit);
      break;
    case Kind::if_chain:
      for (const Statement::Branch& branch : s.branches) {
        walk_optional(branch.test, visit);
        walk(branch.body, visit);
      }
      break;
    case Kind::for_loop:
      walk(*s.target, visit);
      walk(*s.expression, visit);
      walk(s.body, visit);
      walk(s.else_body, visit);
      walk_optional(s.test, visit);
      break;
    case Kind::filter_block:
      walk(s.body, visit);
      walk(*s.expression, visit);
      break;
    case Kind::macro: walk_macro(*s.macro, visit); break;  // its own name is no name node in jinja2
    default:
      for (const ExpressionPtr& target : s.targets) walk(*target, visit);
      for (const ExpressionPtr& value : s.values) walk(*value, visit);
      walk_optional(s.target, visit);
      walk_optional(s.expression, visit);
      if (s.macro) walk_macro(*s.macro, visit);
      walk(s.body, visit);
  }
}

}  // namespace

std::set<std::string> undeclared_names(const Body& body, std::set<std::string> names) {
  std::set<std::string> undeclared;
  walk(body, [&](const Expression& e) {
    if (e.kind != Expression::Kind::name || !names.contains(e.name)) return;
    if (e.use == Expression::Use::load)
      undeclared.insert(e.name);
    else
      names.erase(e.name);
  });
  return undeclared;
}

bool assigns_name(const Statement& statement, std::string_view name) {
  bool found = false;
  walk(statement, [&](const Expression& e) {
    found = found || (e.kind == Expression::Kind::name && e.use == Expression::Use::store && e.name == name);
  });
  return found;
}

ExpressionPtr clone_target(const Expression& target) {
  ExpressionPtr copy = make_expression(target.kind, target.line);
  copy->name = target.name;
  copy->use = target.use;
  for (const ExpressionPtr& item : target.items) copy->items.push_back(clone_target(*item));
  return copy;
}

}  // namespace takt::text::jinja
