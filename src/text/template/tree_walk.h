// Questions about a whole subtree, nested scopes included.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "text/template/ast.h"

namespace takt::text::jinja {

// Those of `names` that the body reads before it sets them, in source order.
std::set<std::string> undeclared_names(const Body& body, std::set<std::string> names);
// Is `name` assigned anywhere in the statement?
bool assigns_name(const Statement& statement, std::string_view name);
// A copy of an assignment target: names and tuples of names.
ExpressionPtr clone_target(const Expression& target);

}  // namespace takt::text::jinja
