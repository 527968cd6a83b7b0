#include "text/template/expression_parser.h"

#include <algorithm>
#include <optional>

namespace takt::text::jinja {
namespace {

using Kind = Expression::Kind;

ExpressionPtr constant(Value value, int line) {
  ExpressionPtr node = make_expression(Kind::constant, line);
  node->constant = std::move(value);
  return node;
}

ExpressionPtr unary(Kind kind, ExpressionPtr operand, int line) {
  ExpressionPtr node = make_expression(kind, line);
  node->operand = std::move(operand);
  return finish_expression(std::move(node));
}

ExpressionPtr pair(Kind kind, ExpressionPtr left, ExpressionPtr right, int line) {
  ExpressionPtr node = make_expression(kind, line);
  node->items.push_back(std::move(left));
  node->items.push_back(std::move(right));
  return finish_expression(std::move(node));
}

std::optional<CompareOperator> compare_operator(const Token& token) {
  if (token.type != TokenType::operator_token) return std::nullopt;
  if (token.text == "==") return CompareOperator::equal;
  if (token.text == "!=") return CompareOperator::not_equal;
  if (token.text == "<") return CompareOperator::less;
  if (token.text == "<=") return CompareOperator::less_equal;
  if (token.text == ">") return CompareOperator::greater;
  if (token.text == ">=") return CompareOperator::greater_equal;
  return std::nullopt;
}

}  // namespace

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  const DepthGuard guard(depth_, kParseDepthMax, stream_.line());
  int line = stream_.line();
  ExpressionPtr value = parse_or();
  while (with_conditional && stream_.skip_if_name("if")) {
    ExpressionPtr node = make_expression(Kind::conditional, line);
    node->operand = parse_or();
    node->items.push_back(std::move(value));
    node->items.push_back(stream_.skip_if_name("else") ? parse_expression() : nullptr);
    value = finish_expression(std::move(node));
    line = stream_.line();
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_or() {
  int line = stream_.line();
  ExpressionPtr left = parse_and();
  while (stream_.skip_if_name("or")) {
    left = pair(Kind::logical_or, std::move(left), parse_and(), line);
    line = stream_.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  int line = stream_.line();
  ExpressionPtr left = parse_not();
  while (stream_.skip_if_name("and")) {
    left = pair(Kind::logical_and, std::move(left), parse_not(), line);
    line = stream_.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!stream_.current().is_name("not")) return parse_compare();
  const DepthGuard guard(depth_, kParseDepthMax, stream_.line());
  const int line = stream_.take().line;
  return unary(Kind::logical_not, parse_not(), line);
}

ExpressionPtr ExpressionParser::parse_compare() {
  ExpressionPtr first = parse_additive();
  ExpressionPtr node = make_expression(Kind::compare, stream_.line());
  while (true) {
    if (const auto op = compare_operator(stream_.current())) {
      stream_.take();
      node->compare_operators.push_back(*op);
    } else if (stream_.skip_if_name("in")) {
      node->compare_operators.push_back(CompareOperator::in);
    } else if (stream_.current().is_name("not") && stream_.following().is_name("in")) {
      stream_.take();
      stream_.take();
      node->compare_operators.push_back(CompareOperator::not_in);
    } else {
      break;
    }
    node->items.push_back(parse_additive());
  }
  if (node->items.empty()) return first;
  node->operand = std::move(first);
  return finish_expression(std::move(node));
}

ExpressionPtr ExpressionParser::parse_additive() {
  int line = stream_.line();
  ExpressionPtr left = parse_concat();
  while (stream_.current().is_operator("+") || stream_.current().is_operator("-")) {
    const BinaryOperator op = stream_.take().text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
    left = pair(Kind::binary, std::move(left), parse_concat(), line);
    left->op = op;
    line = stream_.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  const int line = stream_.line();
  ExpressionPtr first = parse_multiplicative();
  if (!stream_.current().is_operator("~")) return first;
  ExpressionPtr node = make_expression(Kind::concat, line);
  node->items.push_back(std::move(first));
  while (stream_.skip_if_operator("~")) node->items.push_back(parse_multiplicative());
  return finish_expression(std::move(node));
}

ExpressionPtr ExpressionParser::parse_multiplicative() {
  int line = stream_.line();
  ExpressionPtr left = parse_power();
  while (true) {
    const Token& token = stream_.current();
    BinaryOperator op;
    if (token.is_operator("*"))
      op = BinaryOperator::multiply;
    else if (token.is_operator("/"))
      op = BinaryOperator::divide;
    else if (token.is_operator("//"))
      op = BinaryOperator::floor_divide;
    else if (token.is_operator("%"))
      op = BinaryOperator::modulo;
    else
      return left;
    stream_.take();
    left = pair(Kind::binary, std::move(left), parse_power(), line);
    left->op = op;
    line = stream_.line();
  }
}

ExpressionPtr ExpressionParser::parse_power() {
  int line = stream_.line();
  ExpressionPtr left = parse_unary();
  while (stream_.skip_if_operator("**")) {
    left = pair(Kind::binary, std::move(left), parse_unary(), line);
    left->op = BinaryOperator::power;
    line = stream_.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filter) {
  const DepthGuard guard(depth_, kParseDepthMax, stream_.line());
  const int line = stream_.line();
  ExpressionPtr node;
  if (stream_.skip_if_operator("-")) {
    node = unary(Kind::negate, parse_unary(false), line);
  } else if (stream_.skip_if_operator("+")) {
    node = unary(Kind::positive, parse_unary(false), line);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_expression(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parse_string() {
  const int line = stream_.line();
  std::string text;
  while (stream_.current().type == TokenType::string) text += stream_.take().text;
  return constant(Value::string(std::move(text), Origin::template_source), line);
}

ExpressionPtr ExpressionParser::parse_primary(bool with_namespace) {
  const Token& token = stream_.current();
  if (token.type == TokenType::string) return parse_string();
  if (token.type == TokenType::integer || token.type == TokenType::real) {
    stream_.take();
    return constant(token.number, token.line);
  }
  if (token.is_operator("(")) {
    stream_.take();
    ExpressionPtr node = parse_tuple(true, {}, true);
    stream_.expect_operator(")");
    return node;
  }
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  if (token.type != TokenType::name) fail("unexpected '" + TokenStream::describe(token) + "'", token.line);
  stream_.take();
  if (token.text == "true" || token.text == "True") return constant(Value::boolean(true), token.line);
  if (token.text == "false" || token.text == "False") return constant(Value::boolean(false), token.line);
  if (token.text == "none" || token.text == "None") return constant(Value::none(), token.line);
  const bool is_namespace = with_namespace && stream_.current().is_operator(".");
  ExpressionPtr node = make_expression(is_namespace ? Kind::namespace_target : Kind::name, token.line);
  node->name = token.text;
  if (is_namespace) {
    stream_.take();
    node->member = stream_.expect(TokenType::name, "name").text;
  }
  return node;
}

bool ExpressionParser::at_tuple_end(std::string_view stop_name) const {
  const Token& token = stream_.current();
  return token.type == TokenType::variable_end || token.type == TokenType::block_end || token.is_operator(")") ||
         (!stop_name.empty() && token.is_name(stop_name));
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, std::string_view stop_name, bool parenthesised) {
  ExpressionPtr tuple = make_expression(Kind::tuple, stream_.line());
  bool is_tuple = false;
  while (true) {
    if (!tuple->items.empty()) stream_.expect_operator(",");
    if (at_tuple_end(stop_name)) break;
    tuple->items.push_back(parse_expression(with_conditional));
    if (!stream_.current().is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) return std::move(tuple->items[0]);
  if (!is_tuple && !parenthesised) {
    fail("Expected an expression, got '" + TokenStream::describe(stream_.current()) + "'", stream_.line());
  }
  return finish_expression(std::move(tuple));
}

ExpressionPtr ExpressionParser::parse_list() {
  ExpressionPtr node = make_expression(Kind::list, stream_.take().line);
  while (!stream_.current().is_operator("]")) {
    if (!node->items.empty()) stream_.expect_operator(",");
    if (stream_.current().is_operator("]")) break;
    node->items.push_back(parse_expression());
  }
  stream_.take();
  return finish_expression(std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
  ExpressionPtr node = make_expression(Kind::dict, stream_.take().line);
  while (!stream_.current().is_operator("}")) {
    if (!node->items.empty()) stream_.expect_operator(",");
    if (stream_.current().is_operator("}")) break;
    node->items.push_back(parse_expression());
    stream_.expect_operator(":");
    node->items.push_back(parse_expression());
  }
  stream_.take();
  return finish_expression(std::move(node));
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  while (true) {
    const Token& token = stream_.current();
    if (token.is_operator(".") || token.is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (token.is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filter_expression(ExpressionPtr node) {
  while (true) {
    const Token& token = stream_.current();
    if (token.is_operator("|")) {
      node = parse_filters(std::move(node));
    } else if (token.is_name("is")) {
      node = parse_test(std::move(node));
    } else if (token.is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

}  // namespace takt::text::jinja
