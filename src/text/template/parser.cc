#include "text/template/parser.h"

#include "text/template/expression_parser.h"
#include "text/template/scope.h"

namespace takt::text::jinja {
namespace {

using Kind = Statement::Kind;

class StatementParser {
 public:
  explicit StatementParser(std::string_view source) : stream_(tokenize(source)), expressions_(stream_) {}

  Body parse_all() { return parse_until({}); }

 private:
  using EndNames = std::initializer_list<std::string_view>;

  StatementPtr make(Kind kind, int line) {
    auto node = std::make_unique<Statement>();
    node->kind = kind;
    node->line = line;
    return node;
  }

  bool at_one_of(EndNames names) const {
    for (const std::string_view name : names) {
      if (stream_.current().is_name(name)) return true;
    }
    return false;
  }

  // Statements and data up to "{% name" with one of `ends` (or the end of the template if there are none); the stream
  // then stands on that name.
  Body parse_until(EndNames ends) {
    const DepthGuard guard(depth_, kParseDepthMax, stream_.line());
    Body body;
    const auto output = [&]() -> Statement& {
      if (body.empty() || body.back()->kind != Kind::output) body.push_back(make(Kind::output, stream_.line()));
      return *body.back();
    };
    while (stream_.current().type != TokenType::end) {
      if (stream_.current().type == TokenType::data) {
        Statement& node = output();
        node.pieces.push_back({Text(stream_.take().text, Origin::template_source), nullptr});
      } else if (stream_.current().type == TokenType::variable_begin) {
        Statement& node = output();
        stream_.take();
        node.pieces.push_back({{}, expressions_.parse_tuple()});
        stream_.expect(TokenType::variable_end, "end of print statement");
      } else {
        stream_.expect(TokenType::block_begin, "begin of statement block");
        if (at_one_of(ends)) return body;
        body.push_back(parse_statement(ends));
        stream_.expect(TokenType::block_end, "end of statement block");
      }
    }
    if (ends.size() > 0)
      fail("Unexpected end of template. Jinja was looking for " + listed(ends) + ".", stream_.line());
    return body;
  }

  // The body after a tag's head: an optional colon, "%}", the statements. With `drop`, the end name is taken too.
  Body parse_body(EndNames ends, bool drop = false) {
    stream_.skip_if_operator(":");
    stream_.expect(TokenType::block_end, "end of statement block");
    Body body = parse_until(ends);
    if (drop) stream_.take();
    return body;
  }

  static std::string listed(EndNames names) {
    std::string text;
    for (const std::string_view name : names) text += (text.empty() ? "'" : " or '") + std::string(name) + "'";
    return text;
  }

  StatementPtr parse_statement(EndNames ends) {
    const Token& token = stream_.current();
    if (token.type != TokenType::name) fail("tag name expected", token.line);
    const std::string& name = token.text;
    if (name == "for") return parse_for();
    if (name == "if") return parse_if();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "call") return parse_call_block();
    if (name == "filter") return parse_filter_block();
    if (name == "with") return parse_with();
    if (name == "print") return parse_print();
    if (name == "generation") return parse_generation();
    if (name == "break") return make(Kind::loop_break, stream_.take().line);
    if (name == "continue") return make(Kind::loop_continue, stream_.take().line);
    for (const std::string_view missing : {"include", "import", "from", "extends", "block", "autoescape"}) {
      if (name == missing) fail("the tag '" + name + "' is not supported in a chat template", token.line);
    }
    std::string message = "Encountered unknown tag '" + name + "'.";
    if (ends.size() > 0) message += " Jinja was looking for the following tags: " + listed(ends) + ".";
    fail(std::move(message), token.line);
  }

  StatementPtr parse_for() {
    StatementPtr node = make(Kind::for_loop, stream_.take().line);
    node->target = expressions_.parse_target(false, "in");
    stream_.expect_name("in");
    node->expression = expressions_.parse_tuple(false, "recursive");
    if (stream_.skip_if_name("if")) node->test = expressions_.parse_expression();
    node->recursive = stream_.skip_if_name("recursive");
    node->body = parse_body({"endfor", "else"});
    if (stream_.take().text == "else") node->else_body = parse_body({"endfor"}, true);
    return node;
  }

  StatementPtr parse_if() {
    StatementPtr node = make(Kind::if_chain, stream_.take().line);
    while (true) {
      Statement::Branch branch;
      branch.test = expressions_.parse_tuple(false);
      branch.body = parse_body({"elif", "else", "endif"});
      node->branches.push_back(std::move(branch));
      const std::string end = stream_.take().text;
      if (end == "elif") continue;
      if (end == "else") node->branches.push_back({nullptr, parse_body({"endif"}, true)});
      return node;
    }
  }

  StatementPtr parse_set() {
    StatementPtr node = make(Kind::set, stream_.take().line);
    node->target = expressions_.parse_target(true);
    if (stream_.skip_if_operator("=")) {
      node->expression = expressions_.parse_tuple();
      return node;
    }
    node->kind = Kind::set_block;
    node->expression = expressions_.parse_filters(nullptr);
    node->body = parse_body({"endset"}, true);
    return node;
  }

  void parse_signature(MacroDefinition& macro) {
    stream_.expect_operator("(");
    while (!stream_.current().is_operator(")")) {
      if (!macro.parameters.empty()) stream_.expect_operator(",");
      ExpressionPtr parameter = expressions_.parse_target_name(Expression::Use::parameter);
      for (const ExpressionPtr& other : macro.parameters) {
        if (other->name == parameter->name) fail("duplicate argument '" + other->name + "'", parameter->line);
      }
      if (stream_.skip_if_operator("=")) {
        macro.defaults.push_back(expressions_.parse_expression());
      } else if (!macro.defaults.empty()) {
        fail("non-default argument follows default argument", stream_.line());
      }
      macro.parameters.push_back(std::move(parameter));
    }
    stream_.take();
  }

  StatementPtr parse_macro() {
    StatementPtr node = make(Kind::macro, stream_.take().line);
    node->macro = std::make_unique<MacroDefinition>();
    node->target = expressions_.parse_target_name();
    node->macro->name = node->target->name;
    parse_signature(*node->macro);
    node->macro->body = parse_body({"endmacro"}, true);
    return node;
  }

  StatementPtr parse_call_block() {
    StatementPtr node = make(Kind::call_block, stream_.take().line);
    node->macro = std::make_unique<MacroDefinition>();
    if (stream_.current().is_operator("(")) parse_signature(*node->macro);
    node->expression = expressions_.parse_expression();
    if (node->expression->kind != Expression::Kind::call) fail("expected call", node->line);
    node->macro->body = parse_body({"endcall"}, true);
    return node;
  }

  // The tag with which transformers marks an assistant's text: renders as its body does.
  StatementPtr parse_generation() {
    StatementPtr node = make(Kind::generation, stream_.take().line);
    node->macro = std::make_unique<MacroDefinition>();
    node->macro->body = parse_body({"endgeneration"}, true);
    return node;
  }

  StatementPtr parse_filter_block() {
    StatementPtr node = make(Kind::filter_block, stream_.take().line);
    node->expression = expressions_.parse_filters(nullptr, true);
    node->body = parse_body({"endfilter"}, true);
    return node;
  }

  StatementPtr parse_with() {
    StatementPtr node = make(Kind::with, stream_.take().line);
    while (stream_.current().type != TokenType::block_end) {
      if (!node->targets.empty()) stream_.expect_operator(",");
      node->targets.push_back(expressions_.parse_target(false));
      stream_.expect_operator("=");
      node->values.push_back(expressions_.parse_expression());
    }
    node->body = parse_body({"endwith"}, true);
    return node;
  }

  StatementPtr parse_print() {
    StatementPtr node = make(Kind::output, stream_.take().line);
    while (stream_.current().type != TokenType::block_end) {
      if (!node->pieces.empty()) stream_.expect_operator(",");
      node->pieces.push_back({{}, expressions_.parse_expression()});
    }
    return node;
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int depth_ = 0;
};

}  // namespace

TemplateTree parse_template(std::string_view source) {
  TemplateTree tree;
  tree.body = StatementParser(source).parse_all();
  resolve_names(tree);
  return tree;
}

}  // namespace takt::text::jinja
