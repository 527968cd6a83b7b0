// str(), repr() and HTML escaping.
#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/unicode.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

constexpr int kReprDepthMax = 2 * kValueDepthMax;  // only a namespace that holds itself gets there

void append_hex(uint32_t code, int digits, std::string& out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back("0123456789abcdef"[code >> shift & 15]);
}

void repr_string(std::string_view text, std::string& out) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  out.push_back(quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text, i);
    if (point.code == static_cast<uint32_t>(quote) || point.code == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(point.code));
    } else if (point.code == '\n') {
      out += "\\n";
    } else if (point.code == '\r') {
      out += "\\r";
    } else if (point.code == '\t') {
      out += "\\t";
    } else if (is_printable(point.code)) {
      out.append(text.substr(i, point.bytes));
    } else {
      out += point.code < 0x100 ? "\\x" : point.code < 0x10000 ? "\\u" : "\\U";
      append_hex(point.code, point.code < 0x100 ? 2 : point.code < 0x10000 ? 4 : 8, out);
    }
    i += point.bytes;
  }
  out.push_back(quote);
}

void repr_into(const Value& value, int depth, std::string& out);

void repr_items(const std::vector<Value>& items, int depth, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    repr_into(items[i], depth + 1, out);
  }
}

void repr_dict(const Dict& dict, int depth, std::string& out) {
  out += "{";
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out += ", ";
    first = false;
    repr_into(key, depth + 1, out);
    out += ": ";
    repr_into(value, depth + 1, out);
  }
  out += "}";
}

void repr_object(const Value& value, int depth, std::string& out) {
  Object* const object = value.as_object();
  switch (object->type()) {
    case ObjectType::undefined: out += "Undefined"; return;
    case ObjectType::namespace_object:
      out += "<Namespace ";
      repr_dict(static_cast<Namespace&>(*object).values, depth, out);
      out += ">";
      return;
    case ObjectType::range: {
      const auto& range = static_cast<Range&>(*object);
      out += "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
      if (range.step != 1) out += ", " + std::to_string(range.step);
      out += ")";
      return;
    }
    case ObjectType::dict_view:
      out += std::string(object->python_type()) + "([";
      repr_items(to_vector(value), depth, out);
      out += "])";
      return;
    default: out += object->describe();
  }
}

void repr_into(const Value& value, int depth, std::string& out) {
  Budget::step();
  if (depth > kReprDepthMax) fail("maximum recursion depth exceeded while getting the repr of an object");
  switch (value.kind()) {
    case Value::Kind::missing: out += "missing"; break;
    case Value::Kind::none: out += "None"; break;
    case Value::Kind::boolean: out += value.as_boolean() ? "True" : "False"; break;
    case Value::Kind::integer: out += std::to_string(value.as_integer()); break;
    case Value::Kind::real: out += repr_real(value.as_real()); break;
    case Value::Kind::string:
      if (value.is_markup()) out += "Markup(";
      repr_string(value.as_text().view(), out);
      if (value.is_markup()) out += ")";
      break;
    case Value::Kind::list:
      out += "[";
      repr_items(value.items(), depth, out);
      out += "]";
      break;
    case Value::Kind::tuple:
      out += "(";
      repr_items(value.items(), depth, out);
      out += value.items().size() == 1 ? ",)" : ")";
      break;
    case Value::Kind::dict: repr_dict(value.as_dict(), depth, out); return;
    case Value::Kind::object: repr_object(value, depth, out); return;
  }
  if (value.is_string()) Budget::work(value.as_text().size());
  Budget::require(out.size());
}

}  // namespace

std::string repr(const Value& value) {
  std::string out;
  repr_into(value, 0, out);
  return out;
}

Text to_text(const Value& value) {
  if (value.is_string()) return value.as_text();
  if (value.is_undefined()) return {};
  return Text(repr(value), value.holds_user_text() ? Origin::user : Origin::template_source);
}

Value to_string_value(const Value& value) {
  return value.is_string() && !value.is_markup() ? value : Value::text(to_text(value));
}

Text escaped(const Value& value) {
  const Text text = to_text(value);
  if (value.is_markup()) return text;
  Text out;
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char* replacement = nullptr;
    switch (text.bytes()[i]) {
      case '&': replacement = "&amp;"; break;
      case '<': replacement = "&lt;"; break;
      case '>': replacement = "&gt;"; break;
      case '"': replacement = "&#34;"; break;
      case '\'': replacement = "&#39;"; break;
      default: continue;
    }
    out.append_range(text, done, i);
    out.append(replacement, text.origin_at(i));
    done = i + 1;
  }
  out.append_range(text, done, text.size());
  return out;
}

}  // namespace takt::text::jinja
