#include "text/template/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/unicode.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    Budget::step();
    switch (value.kind()) {
      case Value::Kind::none: out_ += "null"; break;
      case Value::Kind::boolean: out_ += value.as_boolean() ? "true" : "false"; break;
      case Value::Kind::integer: out_ += std::to_string(value.as_integer()); break;
      case Value::Kind::real: out_ += number(value.as_real()); break;
      case Value::Kind::string: write_string(value.as_text().view()); break;
      case Value::Kind::list:
      case Value::Kind::tuple: write_list(value.items()); break;
      case Value::Kind::dict: write_dict(value.as_dict()); break;
      default: fail("Object of type " + std::string(type_name(value)) + " is not JSON serializable");
    }
    Budget::require(out_.size());
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return repr_real(value);
  }

  void escape_code_unit(uint32_t unit) {
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", unit & 0xFFFF);
    out_ += buffer;
  }

  void write_code_point(uint32_t code, std::string_view bytes) {
    switch (code) {
      case '"': out_ += "\\\""; return;
      case '\\': out_ += "\\\\"; return;
      case '\n': out_ += "\\n"; return;
      case '\r': out_ += "\\r"; return;
      case '\t': out_ += "\\t"; return;
      case '\f': out_ += "\\f"; return;
      case '\b': out_ += "\\b"; return;
      default: break;
    }
    if (code >= 0x20 && (code < 0x7F || !style_.ensure_ascii || code == 0x7F)) {
      out_ += bytes;
    } else if (code >= 0x10000) {
      escape_code_unit(0xD800 + ((code - 0x10000) >> 10));
      escape_code_unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      escape_code_unit(code);
    }
  }

  void write_string(std::string_view text) {
    Budget::work(text.size());
    out_ += '"';
    for (size_t i = 0; i < text.size();) {
      const CodePoint point = decode(text, i);
      write_code_point(point.code, text.substr(i, point.bytes));
      i += point.bytes;
    }
    out_ += '"';
  }

  void new_line() {
    if (!style_.indented) return;
    Budget::work(style_.indent.size() * level_);
    out_ += '\n';
    for (size_t i = 0; i < level_; ++i) out_ += style_.indent;
    Budget::require(out_.size());
  }

  void write_list(const std::vector<Value>& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    out_ += ']';
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Value::Kind::string: write_string(key.as_text().view()); return;
      case Value::Kind::none: out_ += "\"null\""; return;
      case Value::Kind::boolean: out_ += key.as_boolean() ? "\"true\"" : "\"false\""; return;
      case Value::Kind::integer: out_ += "\"" + std::to_string(key.as_integer()) + "\""; return;
      case Value::Kind::real: out_ += "\"" + number(key.as_real()) + "\""; return;
      default: fail("keys must be str, int, float, bool or None, not " + std::string(type_name(key)));
    }
  }

  void write_dict(const Dict& dict) {
    if (dict.empty()) {
      out_ += "{}";
      return;
    }
    auto entries = dict.entries();
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return ordered(a.first, b.first, Order::less); });
    }
    out_ += '{';
    ++level_;
    bool first = true;
    for (const auto& [key, value] : entries) {
      if (!first) out_ += style_.item_separator;
      first = false;
      new_line();
      write_key(key);
      out_ += style_.key_separator;
      write(value);
    }
    --level_;
    new_line();
    out_ += '}';
  }

  const JsonStyle& style_;
  std::string out_;
  size_t level_ = 0;
};

}  // namespace

Value to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value);
  return Value::text(Text(writer.take(), value.holds_user_text() ? Origin::user : Origin::template_source));
}

}  // namespace takt::text::jinja
