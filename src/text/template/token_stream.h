// The parser's view of the tokens: one token ahead, and a second one where Jinja's grammar needs it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/lexer.h"
#include "text/template/limits.h"

namespace takt::text::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }

  // Returns the current token and moves on; stays on the last one.
  const Token& take() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool skip_if_name(std::string_view name) { return current().is_name(name) && (take(), true); }
  bool skip_if_operator(std::string_view op) { return current().is_operator(op) && (take(), true); }

  const Token& expect(TokenType type, std::string_view what) {
    if (current().type != type) fail_unexpected(what);
    return take();
  }
  const Token& expect_name(std::string_view name) {
    if (!current().is_name(name)) fail_unexpected(name);
    return take();
  }
  const Token& expect_operator(std::string_view op) {
    if (!current().is_operator(op)) fail_unexpected(op);
    return take();
  }

  static std::string describe(const Token& token) {
    switch (token.type) {
      case TokenType::data: return "template data";
      case TokenType::variable_begin: return "begin of print statement";
      case TokenType::variable_end: return "end of print statement";
      case TokenType::block_begin: return "begin of statement block";
      case TokenType::block_end: return "end of statement block";
      case TokenType::end: return "end of template";
      case TokenType::string: return "string";
      default: return token.text;
    }
  }

 private:
  [[noreturn]] void fail_unexpected(std::string_view what) const {
    if (current().type == TokenType::end) {
      fail("unexpected end of template, expected '" + std::string(what) + "'.", line());
    }
    fail("expected token '" + std::string(what) + "', got '" + describe(current()) + "'", line());
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

// Counts nesting while a scope of the parser (or of another recursive walk) is open.
class DepthGuard {
 public:
  DepthGuard(int& depth, int limit, int line) : depth_(depth) {
    if (depth_ >= limit) fail("the template is nested deeper than " + std::to_string(limit) + " levels", line);
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace takt::text::jinja
