#include "text/template/ast.h"

#include <algorithm>

#include "text/template/limits.h"

namespace takt::text::jinja {

ExpressionPtr make_expression(Expression::Kind kind, int line) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExpressionPtr finish_expression(ExpressionPtr node) {
  int tallest = 0;
  for_each_child(*node, [&](const Expression& child) { tallest = std::max(tallest, child.height); });
  node->height = tallest + 1;
  constexpr int kHeightMax = 4 * kParseDepthMax;
  if (node->height > kHeightMax) {
    fail("an expression is nested deeper than " + std::to_string(kHeightMax) + " levels", node->line);
  }
  return node;
}

}  // namespace takt::text::jinja
