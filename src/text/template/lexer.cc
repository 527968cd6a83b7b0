#include "text/template/lexer.h"

#include <algorithm>
#include <array>

#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/string_literal.h"
#include "text/template/unicode.h"

namespace takt::text::jinja {
namespace {

// \r\n and \r become \n; one trailing newline goes.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)), text_(source_) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) lex_data();
    push(TokenType::end, "");
    return std::move(tokens_);
  }

 private:
  // A tag that begins at some place in the data: what it is, its sign and where its inside starts.
  struct Opening {
    size_t begin, inside;
    char kind, sign;  // kind: '{' variable, '%' block, '#' comment, 'r' raw; sign: '-', '+' or 0
  };

  void push(TokenType type, std::string text, Value number = {}) {
    tokens_.push_back({type, line_, std::move(text), std::move(number)});
  }

  void advance_to(size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  size_t skip_space(size_t from) const {
    while (from < text_.size()) {
      const CodePoint point = decode(text_, from);
      if (!is_space(point.code)) break;
      from += point.bytes;
    }
    return from;
  }

  bool starts_with(size_t at, std::string_view what) const { return text_.substr(at, what.size()) == what; }

  // The end of "{% raw %}" that begins at `at`, or npos.
  size_t raw_end(size_t at, char& sign) const {
    size_t i = at + 2;
    sign = i < text_.size() && (text_[i] == '-' || text_[i] == '+') ? text_[i++] : '\0';
    i = skip_space(i);
    if (!starts_with(i, "raw")) return std::string_view::npos;
    i = skip_space(i + 3);
    if (starts_with(i, "-%}")) return skip_space(i + 3);
    return starts_with(i, "%}") ? i + 2 : std::string_view::npos;
  }

  bool find_opening(Opening& found) const {
    for (size_t i = text_.find('{', at_); i != std::string_view::npos && i + 1 < text_.size();
         i = text_.find('{', i + 1)) {
      const char kind = text_[i + 1];
      if (kind != '{' && kind != '%' && kind != '#') continue;
      found = {i, i + 2, kind, '\0'};
      if (kind == '%') {
        const size_t end = raw_end(i, found.sign);
        if (end != std::string_view::npos) {
          found.kind = 'r';
          found.inside = end;
          return true;
        }
      }
      found.sign = i + 2 < text_.size() && (text_[i + 2] == '-' || text_[i + 2] == '+') ? text_[i + 2] : '\0';
      if (found.sign != '\0') ++found.inside;
      return true;
    }
    return false;
  }

  // The part of text_[at_, end) that stays, given the sign of the tag that follows.
  size_t stripped_end(size_t end, char sign, bool is_variable) const {
    if (sign == '-') {
      while (end > at_) {
        const CodePoint point = decode_before(text_.substr(at_, end - at_), end - at_);
        if (!is_space(point.code)) break;
        end -= point.bytes;
      }
      return end;
    }
    if (sign == '+' || is_variable || end == at_) return end;
    const size_t newline = text_.substr(at_, end - at_).rfind('\n');
    const size_t line_begin = newline == std::string_view::npos ? at_ : at_ + newline + 1;
    if (line_begin == at_ && !line_starting_) return end;
    return skip_space(line_begin) >= end ? line_begin : end;
  }

  void push_data(size_t end) {
    if (end > at_) push(TokenType::data, std::string(text_.substr(at_, end - at_)));
  }

  void lex_data() {
    Opening opening;
    if (!find_opening(opening)) {
      push_data(text_.size());
      advance_to(text_.size());
      return;
    }
    push_data(stripped_end(opening.begin, opening.sign, opening.kind == '{'));
    advance_to(opening.begin);
    if (opening.kind == '{') push(TokenType::variable_begin, "");
    if (opening.kind == '%') push(TokenType::block_begin, "");
    advance_to(opening.inside);
    line_starting_ = text_[opening.inside - 1] == '\n';
    switch (opening.kind) {
      case '#': lex_comment(); break;
      case 'r': lex_raw(); break;
      default: lex_expression(opening.kind == '{');
    }
  }

  // Where the closing of a block or comment that stands at `at` ends ("+%}", "-%}" and the space after it, "%}" and one
  // newline), or npos if there is none.
  size_t closing_end(size_t at, std::string_view mark) const {
    if (starts_with(at, "+") && starts_with(at + 1, mark)) return at + 1 + mark.size();
    if (starts_with(at, "-") && starts_with(at + 1, mark)) return skip_space(at + 1 + mark.size());
    if (!starts_with(at, mark)) return std::string_view::npos;
    const size_t end = at + mark.size();
    return starts_with(end, "\n") ? end + 1 : end;
  }

  void close(size_t end) {
    advance_to(end);
    line_starting_ = text_[end - 1] == '\n';
  }

  void lex_comment() {
    for (size_t i = at_; i < text_.size(); ++i) {
      const size_t end = closing_end(i, "#}");
      if (end == std::string_view::npos) continue;
      close(end);
      return;
    }
    fail("Missing end of comment tag", line_);
  }

  void lex_raw() {
    for (size_t i = text_.find("{%", at_); i != std::string_view::npos; i = text_.find("{%", i + 1)) {
      size_t inside = i + 2;
      const char sign = starts_with(inside, "-") || starts_with(inside, "+") ? text_[inside++] : '\0';
      inside = skip_space(inside);
      if (!starts_with(inside, "endraw")) continue;
      const size_t end = closing_end(skip_space(inside + 6), "%}");
      if (end == std::string_view::npos) continue;
      push_data(stripped_end(i, sign, false));
      close(end);
      return;
    }
    fail("Missing end of raw directive", line_);
  }

  size_t variable_end(size_t at) const {
    if (starts_with(at, "-}}")) return skip_space(at + 3);
    return starts_with(at, "}}") ? at + 2 : std::string_view::npos;
  }

  void lex_expression(bool is_variable) {
    open_.clear();
    while (at_ < text_.size()) {
      const size_t end = !open_.empty() ? std::string_view::npos
                         : is_variable  ? variable_end(at_)
                                        : closing_end(at_, "%}");
      if (end != std::string_view::npos) {
        push(is_variable ? TokenType::variable_end : TokenType::block_end, "");
        close(end);
        return;
      }
      const size_t after_space = skip_space(at_);
      if (after_space != at_) {
        advance_to(after_space);
        continue;
      }
      lex_token();
    }
  }

  void lex_token() {
    const char c = text_[at_];
    if (is_digit_char(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_string(c);
    const CodePoint point = decode(text_, at_);
    if (is_word(point.code)) return lex_name();
    lex_operator();
  }

  // digits, single underscores between them; the end of the run that starts at `from`, or `from` if there is no digit.
  size_t digits_end(size_t from, int base) const {
    size_t end = from;
    for (size_t i = from; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '_' && i > from && text_[i - 1] != '_') continue;
      const int value = is_digit_char(c)                         ? c - '0'
                        : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                 : 99;
      if (value >= base) break;
      end = i + 1;
    }
    return end;
  }

  size_t real_end() const {
    if (at_ > 0 && text_[at_ - 1] == '.') return at_;
    const size_t whole = digits_end(at_, 10);
    size_t end = whole;
    if (starts_with(end, ".") && digits_end(end + 1, 10) > end + 1) end = digits_end(end + 1, 10);
    if (end < text_.size() && (text_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (starts_with(exponent, "+") || starts_with(exponent, "-")) ++exponent;
      if (digits_end(exponent, 10) > exponent) return digits_end(exponent, 10);
    }
    return end > whole ? end : at_;
  }

  size_t integer_end() const {
    if (text_[at_] != '0') return digits_end(at_, 10);
    const char letter = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : '\0';
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base != 0) {
      const size_t digits = starts_with(at_ + 2, "_") ? at_ + 3 : at_ + 2;
      if (digits_end(digits, base) > digits) return digits_end(digits, base);
    }
    return digits_end(at_, 1);
  }

  void lex_number() {
    const size_t as_real = real_end();
    const size_t end = as_real > at_ ? as_real : integer_end();
    std::string digits(text_.substr(at_, end - at_));
    std::erase(digits, '_');
    if (as_real > at_) {
      push(TokenType::real, digits, Value::real(parse_real(digits).value_or(0)));
    } else {
      push(TokenType::integer, digits, Value::integer(parse_integer(digits, 0).value_or(0)));
    }
    advance_to(end);
  }

  void lex_string(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size())
      fail("unexpected char " + std::string(quote == '"' ? "'\"'" : "\"'\"") + ": the string does not end", line_);
    push(TokenType::string, unescape_string_literal(text_.substr(at_ + 1, end - at_ - 1), line_));
    advance_to(end + 1);
  }

  void lex_name() {
    size_t end = at_;
    while (end < text_.size() && is_word(decode(text_, end).code)) end += decode(text_, end).bytes;
    push(TokenType::name, std::string(text_.substr(at_, end - at_)));
    advance_to(end);
  }

  void lex_operator() {
    static constexpr std::array<std::string_view, 6> kLong = {"//", "**", "==", "!=", ">=", "<="};
    std::string_view found = text_.substr(at_, 1);
    for (const std::string_view candidate : kLong) {
      if (starts_with(at_, candidate)) found = candidate;
    }
    if (found.size() == 1 && std::string_view("+-/*%~[](){}><=.:|,;").find(found[0]) == std::string_view::npos) {
      fail("unexpected char '" + std::string(text_.substr(at_, decode(text_, at_).bytes)) + "'", line_);
    }
    if (found == "(" || found == "[" || found == "{") {
      open_.push_back(found == "(" ? ')' : found == "[" ? ']' : '}');
    } else if (found == ")" || found == "]" || found == "}") {
      if (open_.empty()) fail("unexpected '" + std::string(found) + "'", line_);
      if (open_.back() != found[0]) {
        fail("unexpected '" + std::string(found) + "', expected '" + std::string(1, open_.back()) + "'", line_);
      }
      open_.pop_back();
    }
    push(TokenType::operator_token, std::string(found));
    advance_to(at_ + found.size());
  }

  const std::string source_;
  const std::string_view text_;
  std::vector<Token> tokens_;
  std::string open_;  // closing brackets still expected, innermost last
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the last token ended with a newline
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace takt::text::jinja
