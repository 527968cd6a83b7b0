// The expression half of the grammar.
#pragma once

#include <initializer_list>
#include <string_view>

#include "text/template/ast.h"
#include "text/template/token_stream.h"

namespace takt::text::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExpressionPtr parse_expression(bool with_conditional = true);
  // One expression, or several with commas between them as a tuple. `stop_name`: a name that ends the tuple ("in").
  ExpressionPtr parse_tuple(bool with_conditional = true, std::string_view stop_name = {}, bool parenthesised = false);
  // What may stand left of "=": a name, a tuple of names, and with `with_namespace` also ns.attribute.
  ExpressionPtr parse_target(bool with_namespace, std::string_view stop_name = {});
  ExpressionPtr parse_target_name(Expression::Use use = Expression::Use::store);
  // "| a | b(1)" applied to `operand` (null: the text of a block). `inline_start`: the first name has no bar before it.
  ExpressionPtr parse_filters(ExpressionPtr operand, bool inline_start = false);

 private:
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_additive();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_multiplicative();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter = true);
  ExpressionPtr parse_primary(bool with_namespace = false);
  ExpressionPtr parse_string();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filter_expression(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_subscribed();
  ExpressionPtr parse_call(ExpressionPtr node);
  ExpressionPtr parse_test(ExpressionPtr node);
  ExpressionPtr parse_tuple_of_targets(bool with_namespace, std::string_view stop_name);
  std::unique_ptr<CallArguments> parse_arguments();
  std::string parse_dotted_name();
  bool at_tuple_end(std::string_view stop_name) const;

  TokenStream& stream_;
  int depth_ = 0;
};

}  // namespace takt::text::jinja
