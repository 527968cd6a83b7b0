// Template source to tokens, by the rules of Jinja with trim_blocks and lstrip_blocks on and a single trailing newline
// dropped: the environment that chat templates are written for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/template/value.h"

namespace takt::text::jinja {

enum class TokenType : uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  operator_token,
  end
};

struct Token {
  TokenType type;
  int line;
  std::string text;  // data, a name, an operator's characters; a string after its escapes were resolved
  Value number;      // integer, real

  bool is(TokenType t, std::string_view s) const { return type == t && text == s; }
  bool is_name(std::string_view s) const { return is(TokenType::name, s); }
  bool is_operator(std::string_view s) const { return is(TokenType::operator_token, s); }
};

// The last token is `end`. Throws TemplateFailure with a line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace takt::text::jinja
