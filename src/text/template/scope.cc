#include "text/template/scope.h"

#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/limits.h"
#include "text/template/symbols.h"
#include "text/template/tree_walk.h"

namespace takt::text::jinja {
namespace {

using Kind = Statement::Kind;

// Collects what one scope reads and sets, without entering the scopes within it.
class ScopeAnalysis {
 public:
  explicit ScopeAnalysis(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Expression& e) {
    if (e.kind == Expression::Kind::name) {
      if (e.use == Expression::Use::load) symbols_->load(e.name);
      if (e.use == Expression::Use::store) symbols_->store(e.name);
      if (e.use == Expression::Use::parameter) symbols_->declare_parameter(e.name);
    } else if (e.kind == Expression::Kind::namespace_target) {
      symbols_->load(e.name);
    }
    for_each_child(e, [this](const Expression& child) { visit(child); });
  }

  // Every name in a target becomes the scope's own, set from outside (a loop variable).
  void visit_as_parameter(const Expression& target) {
    if (target.kind == Expression::Kind::name) symbols_->declare_parameter(target.name);
    for_each_child(target, [this](const Expression& child) { visit_as_parameter(child); });
  }

  void visit(const Body& body) {
    for (const StatementPtr& statement : body) visit(*statement);
  }

  void visit(const Statement& s) {
    switch (s.kind) {
      case Kind::output:
        for (const Statement::Piece& piece : s.pieces) {
          if (piece.expression) visit(*piece.expression);
        }
        break;
      case Kind::if_chain: visit_if(s); break;
      case Kind::set:
        visit(*s.expression);
        visit(*s.target);
        break;
      case Kind::with:
        for (const ExpressionPtr& value : s.values) visit(*value);
        break;
      case Kind::set_block: visit(*s.target); break;
      case Kind::macro: symbols_->store(s.macro->name); break;
      case Kind::for_loop:
      case Kind::call_block:
      case Kind::filter_block: visit(*s.expression); break;
      default: break;
    }
  }

 private:
  // Jinja sees "elif" as an if of its own within the middle one of three branches: then, elifs, else.
  void visit_if(const Statement& s) {
    visit(*s.branches[0].test);
    std::vector<Symbols> branches = copies_for_branches();
    within(branches[0], [&] { visit(s.branches[0].body); });
    within(branches[1], [&] {
      for (size_t i = 1; i < s.branches.size() && s.branches[i].test; ++i) visit_elif(s.branches[i]);
    });
    within(branches[2], [&] {
      if (!s.branches.back().test) visit(s.branches.back().body);
    });
    symbols_->merge_branches(branches);
  }

  void visit_elif(const Statement::Branch& branch) {
    visit(*branch.test);
    std::vector<Symbols> branches = copies_for_branches();
    within(branches[0], [&] { visit(branch.body); });
    symbols_->merge_branches(branches);
  }

  std::vector<Symbols> copies_for_branches() {
    Budget::work(symbols_->size() * 256);  // many ifs times many names: quadratic in the source
    return std::vector<Symbols>(3, *symbols_);
  }

  template <class Action>
  void within(Symbols& branch, const Action& action) {
    Symbols* const before = symbols_;
    symbols_ = &branch;
    action();
    symbols_ = before;
  }

  Symbols* symbols_;
};

// Walks the tree scope by scope and writes slots into the nodes.
class Resolver {
 public:
  void resolve(TemplateTree& tree) {
    FunctionSlots function;
    Symbols symbols(nullptr, function);
    ScopeAnalysis(symbols).visit(tree.body);
    tree.scope = symbols.scope();
    resolve_body(tree.body, symbols, {});
    tree.slot_count = function.slot_count;
  }

 private:
  struct Place {
    bool soft = false;     // within an if: an unknown filter fails only when it is reached
    bool in_loop = false;  // break and continue make sense
  };

  void resolve_body(Body& body, Symbols& symbols, Place place) {
    for (const StatementPtr& statement : body) resolve_statement(*statement, symbols, place);
  }

  void resolve_expression(Expression& e, Symbols& symbols, bool soft) {
    if (e.kind == Expression::Kind::name || e.kind == Expression::Kind::namespace_target) {
      e.slot = symbols.resolve(e.name);
    }
    if (!soft && e.kind == Expression::Kind::filter && !is_filter(e.name))
      fail("No filter named '" + e.name + "'.", e.line);
    if (!soft && e.kind == Expression::Kind::test && !is_test(e.name)) fail("No test named '" + e.name + "'.", e.line);
    const bool inner_soft = soft || e.kind == Expression::Kind::conditional;
    for_each_child(
        e, [&](const Expression& child) { resolve_expression(const_cast<Expression&>(child), symbols, inner_soft); });
  }

  void resolve_statement(Statement& s, Symbols& symbols, Place place) {
    switch (s.kind) {
      case Kind::output:
        for (Statement::Piece& piece : s.pieces) {
          if (piece.expression) resolve_expression(*piece.expression, symbols, place.soft);
        }
        break;
      case Kind::set:
        resolve_expression(*s.expression, symbols, place.soft);
        resolve_expression(*s.target, symbols, place.soft);
        break;
      case Kind::if_chain:
        for (Statement::Branch& branch : s.branches) {
          if (branch.test) resolve_expression(*branch.test, symbols, true);
          resolve_body(branch.body, symbols, {true, place.in_loop});
        }
        break;
      case Kind::for_loop: resolve_for(s, symbols, place); break;
      case Kind::macro:
        resolve_macro(*s.macro, symbols, s.line);
        resolve_expression(*s.target, symbols, place.soft);
        break;
      case Kind::call_block:
        resolve_macro(*s.macro, symbols, s.line);
        resolve_expression(*s.expression, symbols, place.soft);
        break;
      case Kind::generation: resolve_macro(*s.macro, symbols, s.line); break;
      case Kind::set_block:
      case Kind::filter_block: resolve_capture(s, symbols, place); break;
      case Kind::with: resolve_with(s, symbols, place); break;
      case Kind::loop_break:
      case Kind::loop_continue:
        if (!place.in_loop)
          fail(s.kind == Kind::loop_break ? "'break' outside loop" : "'continue' not properly in loop", s.line);
        break;
    }
  }

  void resolve_capture(Statement& s, Symbols& symbols, Place place) {
    Symbols inner(&symbols, symbols.function());
    ScopeAnalysis analysis(inner);
    analysis.visit(s.body);
    if (s.expression) analysis.visit(*s.expression);
    s.scope = inner.scope();
    resolve_body(s.body, inner, {false, place.in_loop});
    if (s.expression) resolve_expression(*s.expression, inner, false);
    if (s.target) resolve_expression(*s.target, symbols, place.soft);
  }

  void resolve_with(Statement& s, Symbols& symbols, Place place) {
    Symbols inner(&symbols, symbols.function());
    ScopeAnalysis analysis(inner);
    for (const ExpressionPtr& target : s.targets) analysis.visit_as_parameter(*target);
    analysis.visit(s.body);
    s.scope = inner.scope();
    for (const ExpressionPtr& value : s.values) resolve_expression(*value, symbols, place.soft);
    for (const ExpressionPtr& target : s.targets) resolve_expression(*target, inner, false);
    resolve_body(s.body, inner, {false, place.in_loop});
  }

  void resolve_for(Statement& s, Symbols& symbols, Place place) {
    if (assigns_name(s, "loop")) fail("Can't assign to special loop variable in for-loop target", s.line);
    resolve_expression(*s.expression, symbols, place.soft);
    FunctionSlots own{symbols.function().depth + 1, 0};
    FunctionSlots& function = s.recursive ? own : symbols.function();
    s.extended = s.recursive || !undeclared_names(s.body, {"loop"}).empty();

    Symbols loop(&symbols, function);
    if (s.extended) loop.declare_parameter("loop");
    ScopeAnalysis analysis(loop);
    analysis.visit_as_parameter(*s.target);
    analysis.visit(s.body);
    s.scope = loop.scope();
    if (s.extended) s.loop_slot = loop.own_slot("loop");
    if (s.test) {
      Symbols test(&symbols, function);
      ScopeAnalysis test_analysis(test);
      test_analysis.visit_as_parameter(*s.target);
      test_analysis.visit(*s.test);
      s.test_scope = test.scope();
      s.test_target = clone_target(*s.target);
      resolve_expression(*s.test_target, test, false);
      resolve_expression(*s.test, test, false);
    }
    resolve_expression(*s.target, loop, false);
    resolve_body(s.body, loop, {false, true});
    Symbols otherwise(&symbols, function);
    ScopeAnalysis(otherwise).visit(s.else_body);
    s.else_scope = otherwise.scope();
    resolve_body(s.else_body, otherwise, {false, place.in_loop && !s.recursive});
    s.slot_count = own.slot_count;
  }

  void resolve_macro(MacroDefinition& macro, Symbols& outer, int line) {
    FunctionSlots function{outer.function().depth + 1, 0};
    Symbols symbols(&outer, function);
    analyze_macro(macro, symbols);
    declare_special_parameters(macro, symbols, line);
    analyze_macro(macro, symbols);
    macro.scope = symbols.scope();
    for (const ExpressionPtr& parameter : macro.parameters) {
      resolve_expression(*parameter, symbols, false);
      macro.parameter_slots.push_back(symbols.own_slot(parameter->name));
    }
    for (const ExpressionPtr& value : macro.defaults) resolve_expression(*value, symbols, false);
    resolve_body(macro.body, symbols, {});
    macro.slot_count = function.slot_count;
  }

  static void analyze_macro(const MacroDefinition& macro, Symbols& symbols) {
    ScopeAnalysis analysis(symbols);
    for (const ExpressionPtr& parameter : macro.parameters) analysis.visit(*parameter);
    for (const ExpressionPtr& value : macro.defaults) analysis.visit(*value);
    analysis.visit(macro.body);
  }

  // A macro that mentions caller, kwargs or varargs without declaring them gets them as hidden parameters.
  static void declare_special_parameters(MacroDefinition& macro, Symbols& symbols, int line) {
    const auto declared = [&](std::string_view name) {
      return std::any_of(macro.parameters.begin(), macro.parameters.end(),
                         [&](const ExpressionPtr& parameter) { return parameter->name == name; });
    };
    const std::set<std::string> used = undeclared_names(macro.body, {"caller", "kwargs", "varargs"});
    macro.explicit_caller = declared("caller");
    if (used.contains("caller") && macro.explicit_caller) {
      const size_t without_default = macro.parameters.size() - macro.defaults.size();
      for (size_t i = 0; i < without_default; ++i) {
        if (macro.parameters[i]->name != "caller") continue;
        fail(
            "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a "
            "default.",
            line);
      }
      macro.uses_caller = true;
    } else if (used.contains("caller")) {
      macro.uses_caller = true;
      symbols.declare_parameter("caller");
      macro.caller_slot = symbols.own_slot("caller");
    }
    if (used.contains("kwargs") && !declared("kwargs")) {
      macro.uses_kwargs = true;
      symbols.declare_parameter("kwargs");
      macro.kwargs_slot = symbols.own_slot("kwargs");
    }
    if (used.contains("varargs") && !declared("varargs")) {
      macro.uses_varargs = true;
      symbols.declare_parameter("varargs");
      macro.varargs_slot = symbols.own_slot("varargs");
    }
  }
};

}  // namespace

void resolve_names(TemplateTree& tree) { Resolver().resolve(tree); }

}  // namespace takt::text::jinja
