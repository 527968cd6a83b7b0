// The part of ExpressionParser after a primary: subscripts, calls, filters, tests; and assignment targets.
#include "text/template/expression_parser.h"

namespace takt::text::jinja {
namespace {

using Kind = Expression::Kind;

}  // namespace

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr operand) {
  const Token& token = stream_.take();
  if (token.text == ".") {
    const Token& name = stream_.take();
    if (name.type == TokenType::name) {
      ExpressionPtr node = make_expression(Kind::attribute, token.line);
      node->name = name.text;
      node->operand = std::move(operand);
      return finish_expression(std::move(node));
    }
    if (name.type != TokenType::integer) fail("expected name or number", name.line);
    ExpressionPtr node = make_expression(Kind::item, token.line);
    node->operand = std::move(operand);
    node->items.push_back(make_expression(Kind::constant, name.line));
    node->items[0]->constant = name.number;
    return finish_expression(std::move(node));
  }
  std::vector<ExpressionPtr> keys;
  while (!stream_.current().is_operator("]")) {
    if (!keys.empty()) stream_.expect_operator(",");
    keys.push_back(parse_subscribed());
  }
  stream_.take();
  ExpressionPtr node = make_expression(Kind::item, token.line);
  node->operand = std::move(operand);
  if (keys.size() == 1) {
    node->items.push_back(std::move(keys[0]));
  } else {
    ExpressionPtr tuple = make_expression(Kind::tuple, token.line);
    for (const ExpressionPtr& key : keys) {
      if (key->kind == Kind::slice) fail("a slice within a tuple is not supported", token.line);
    }
    tuple->items = std::move(keys);
    node->items.push_back(finish_expression(std::move(tuple)));
  }
  return finish_expression(std::move(node));
}

ExpressionPtr ExpressionParser::parse_subscribed() {
  const int line = stream_.line();
  const auto ends = [&] { return stream_.current().is_operator("]") || stream_.current().is_operator(","); };
  ExpressionPtr start;
  if (!stream_.skip_if_operator(":")) {
    start = parse_expression();
    if (!stream_.skip_if_operator(":")) return start;
  }
  ExpressionPtr node = make_expression(Kind::slice, line);
  node->items.resize(3);
  node->items[0] = std::move(start);
  if (!stream_.current().is_operator(":") && !ends()) node->items[1] = parse_expression();
  if (stream_.skip_if_operator(":") && !ends()) node->items[2] = parse_expression();
  return finish_expression(std::move(node));
}

std::unique_ptr<CallArguments> ExpressionParser::parse_arguments() {
  const int line = stream_.expect_operator("(").line;
  auto arguments = std::make_unique<CallArguments>();
  const auto ensure = [&](bool valid) {
    if (!valid) fail("invalid syntax for function call expression", line);
  };
  bool require_comma = false;
  while (!stream_.current().is_operator(")")) {
    if (require_comma) {
      stream_.expect_operator(",");
      if (stream_.current().is_operator(")")) break;
    }
    if (stream_.current().is_operator("*")) {
      ensure(!arguments->spread_positional && !arguments->spread_named);
      stream_.take();
      arguments->spread_positional = parse_expression();
    } else if (stream_.current().is_operator("**")) {
      ensure(!arguments->spread_named);
      stream_.take();
      arguments->spread_named = parse_expression();
    } else if (stream_.current().type == TokenType::name && stream_.following().is_operator("=")) {
      ensure(!arguments->spread_named);
      const std::string name = stream_.take().text;
      stream_.take();
      for (const auto& [known, value] : arguments->named) {
        if (known == name) fail("keyword argument repeated: " + name, line);
      }
      arguments->named.emplace_back(name, parse_expression());
    } else {
      ensure(!arguments->spread_positional && !arguments->spread_named && arguments->named.empty());
      arguments->positional.push_back(parse_expression());
    }
    require_comma = true;
  }
  stream_.take();
  return arguments;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr operand) {
  ExpressionPtr node = make_expression(Kind::call, stream_.line());
  node->operand = std::move(operand);
  node->arguments = parse_arguments();
  return finish_expression(std::move(node));
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = stream_.expect(TokenType::name, "name").text;
  while (stream_.skip_if_operator(".")) name += "." + stream_.expect(TokenType::name, "name").text;
  return name;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr operand, bool inline_start) {
  while (inline_start || stream_.current().is_operator("|")) {
    if (!inline_start) stream_.take();
    inline_start = false;
    ExpressionPtr node = make_expression(Kind::filter, stream_.line());
    node->name = parse_dotted_name();
    node->operand = std::move(operand);
    node->arguments = stream_.current().is_operator("(") ? parse_arguments() : std::make_unique<CallArguments>();
    operand = finish_expression(std::move(node));
  }
  return operand;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr operand) {
  const int line = stream_.take().line;
  const bool negated = stream_.skip_if_name("not");
  ExpressionPtr node = make_expression(Kind::test, line);
  node->name = parse_dotted_name();
  node->operand = std::move(operand);
  const Token& token = stream_.current();
  const bool starts_argument = token.type == TokenType::name || token.type == TokenType::string ||
                               token.type == TokenType::integer || token.type == TokenType::real ||
                               token.is_operator("[") || token.is_operator("{");
  if (token.is_operator("(")) {
    node->arguments = parse_arguments();
  } else {
    node->arguments = std::make_unique<CallArguments>();
    if (starts_argument && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
      if (token.is_name("is")) fail("You cannot chain multiple tests with is", token.line);
      node->arguments->positional.push_back(parse_postfix(parse_primary()));
    }
  }
  node = finish_expression(std::move(node));
  if (!negated) return node;
  ExpressionPtr inverse = make_expression(Kind::logical_not, line);
  inverse->operand = std::move(node);
  return finish_expression(std::move(inverse));
}

ExpressionPtr ExpressionParser::parse_target_name(Expression::Use use) {
  const Token& token = stream_.expect(TokenType::name, "name");
  ExpressionPtr node = make_expression(Kind::name, token.line);
  node->name = token.text;
  node->use = use;
  static constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
  for (const std::string_view reserved : kReserved) {
    if (node->name == reserved) fail("can't assign to 'name'", token.line);
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_target(bool with_namespace, std::string_view stop_name) {
  const int line = stream_.line();
  ExpressionPtr target = parse_tuple_of_targets(with_namespace, stop_name);
  const auto mark = [&](Expression& node) {
    if (node.kind == Kind::name)
      node.use = Expression::Use::store;
    else if (node.kind != Kind::namespace_target)
      fail("can't assign to this expression", line);
  };
  if (target->kind != Kind::tuple) {
    mark(*target);
    return target;
  }
  std::vector<Expression*> pending = {target.get()};
  while (!pending.empty()) {
    Expression* const node = pending.back();
    pending.pop_back();
    for (const ExpressionPtr& item : node->items) {
      if (item->kind == Kind::tuple)
        pending.push_back(item.get());
      else
        mark(*item);
    }
  }
  return target;
}

// Like parse_tuple, but each member is a primary.
ExpressionPtr ExpressionParser::parse_tuple_of_targets(bool with_namespace, std::string_view stop_name) {
  ExpressionPtr tuple = make_expression(Kind::tuple, stream_.line());
  bool is_tuple = false;
  while (true) {
    if (!tuple->items.empty()) stream_.expect_operator(",");
    if (at_tuple_end(stop_name)) break;
    tuple->items.push_back(parse_primary(with_namespace));
    if (!stream_.current().is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) return std::move(tuple->items[0]);
  if (!is_tuple) fail("Expected an expression, got '" + TokenStream::describe(stream_.current()) + "'", stream_.line());
  return finish_expression(std::move(tuple));
}

}  // namespace takt::text::jinja
