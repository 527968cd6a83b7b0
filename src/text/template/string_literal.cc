#include "text/template/string_literal.h"

#include <cstdio>

#include "text/template/limits.h"
#include "text/template/unicode.h"

namespace takt::text::jinja {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Reads `digits` hexadecimal digits after the letter at body[at].
uint32_t read_hex(std::string_view body, size_t at, size_t digits, int line) {
  uint32_t code = 0;
  for (size_t i = 1; i <= digits; ++i) {
    const int value = at + i < body.size() ? hex_value(body[at + i]) : -1;
    if (value < 0) fail(std::string("truncated \\") + body[at] + " escape", line);
    code = code << 4 | static_cast<uint32_t>(value);
  }
  if (code > 0x10FFFF) fail("illegal Unicode character", line);
  if (code >= 0xD800 && code <= 0xDFFF) fail("a surrogate escape stands for no character", line);
  return code;
}

char simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '\\':
    case '\'':
    case '"': return c;
    default: return '\0';
  }
}

// A backslash before a non-ASCII character: Python escapes the character first ("\xe9"), so that the template's
// backslash and the new one make one backslash, and the rest stays as letters.
size_t escape_of_non_ascii(std::string_view body, size_t at, std::string& out) {
  const CodePoint point = decode(body, at);
  char buffer[16];
  const char* const format = point.code < 0x100 ? "\\x%02x" : point.code < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof buffer, format, point.code);
  out += buffer;
  return at + point.bytes;
}

size_t octal_escape(std::string_view body, size_t at, std::string& out) {
  uint32_t code = 0;
  size_t i = at;
  for (; i < body.size() && i < at + 3 && body[i] >= '0' && body[i] <= '7'; ++i) {
    code = code << 3 | static_cast<uint32_t>(body[i] - '0');
  }
  encode(code, out);
  return i;
}

}  // namespace

std::string unescape_string_literal(std::string_view body, int line) {
  std::string out;
  for (size_t i = 0; i < body.size();) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      out.push_back(body[i++]);
      continue;
    }
    const char c = body[i + 1];
    if (c == '\n') {
      i += 2;
    } else if (const char simple = simple_escape(c); simple != '\0') {
      out.push_back(simple);
      i += 2;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      encode(read_hex(body, i + 1, digits, line), out);
      i += 2 + digits;
    } else if (c >= '0' && c <= '7') {
      i = octal_escape(body, i + 1, out);
    } else if (c == 'N') {
      fail("\\N{…} escapes are not supported", line);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      i = escape_of_non_ascii(body, i + 1, out);
    } else {
      out.push_back('\\');
      ++i;
    }
  }
  return out;
}

}  // namespace takt::text::jinja
