// Filters on text.
#include "text/template/filters.h"
#include "text/template/json_text.h"
#include "text/template/limits.h"
#include "text/template/text_ops.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

// markupsafe's soft_str: a string as it is, anything else as text.
Value soft(const Value& value) { return value.is_string() ? value : to_string_value(value); }

template <Text (*convert)(const Text&)>
Value mapped(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("filter", arguments, {});
  const Value text = soft(value);
  return make_text(convert(text.as_text()), text);
}

Value trim_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_trim", arguments, {"chars"});
  const Value text = soft(value);
  std::optional<std::string_view> characters;
  if (bound.given(0)) characters = require_text(bound[0], "strip arg").view();
  return make_text(strip(text.as_text(), characters, true, true), text);
}

bool begins_word_after(uint32_t code) {
  return code == '-' || code == '(' || code == '{' || code == '[' || code == '<' || is_space(code);
}

// Jinja's own title: words begin after white space and opening brackets only.
Value title_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_title", arguments, {});
  const Text text = to_text(value);
  Budget::work(text.size() * 4);
  Text result;
  std::string buffer;
  bool word_begins = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text.view(), i);
    buffer.clear();
    append_case(point.code, word_begins ? Case::upper : Case::lower, buffer);
    result.append(buffer, text.origin_at(i));
    word_begins = begins_word_after(point.code);
    i += point.bytes;
  }
  return Value::text(std::move(result));
}

Value replace_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_replace", arguments, {"old", "new", "count"}, 2);
  const Text old = to_text(bound[0]);
  return Value::text(
      replace(to_text(value), old.view(), to_text(bound[1]), bound.given(2) ? bound.integer(2, -1) : -1));
}

Value escape_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("escape", arguments, {});
  return Value::text(escaped(value), true);
}

Value force_escape_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_forceescape", arguments, {});
  return Value::text(escaped(Value::text(to_text(value))), true);
}

Value safe_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_mark_safe", arguments, {});
  return Value::text(to_text(value), true);
}

Value string_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("soft_str", arguments, {});
  return soft(value);
}

Value indent_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_indent", arguments, {"width", "first", "blank"});
  require_defined(value);
  if (!value.is_string()) {
    fail("unsupported operand type(s) for +=: '" + std::string(type_name(value)) + "' and 'str'");
  }
  const Value width = bound.value_or(0, Value::integer(4));
  const Text unit = width.is_string() ? to_text(width)
                                      : pad({}, require_integer(width, "width"), 0, Text(" ", Origin::template_source));
  Text source = value.as_text();
  source.append("\n", Origin::template_source);  // so that a trailing newline counts as an (empty) last line
  const std::vector<Text> lines = split_lines(source, false);
  Text result;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result.append("\n", Origin::template_source);
    const bool indented = i == 0 ? bound.flag(1, false) : bound.flag(2, false) || !lines[i].empty();
    if (indented) result.append(unit);
    result.append(lines[i]);
    Budget::require(result.size());
  }
  return make_text(std::move(result), value);
}

Value center_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_center", arguments, {"width"});
  Arguments width;
  width.positional = {bound.value_or(0, Value::integer(80))};
  return call_string_method(interpreter, soft(value), "center", width);
}

Value format_filter(Interpreter&, const Value& value, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("can't handle positional and keyword arguments at the same time");
  }
  if (arguments.named.empty()) return binary(BinaryOperator::modulo, soft(value), Value::tuple(arguments.positional));
  Dict named;
  for (const auto& [name, argument] : arguments.named) named.set(name, argument, Origin::template_source);
  return binary(BinaryOperator::modulo, soft(value), Value::dict(std::move(named)));
}

Value truncate_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_truncate", arguments, {"length", "killwords", "end", "leeway"});
  const int64_t length = bound.integer(0, 255);
  const Text end = bound.has(2) ? require_text(bound[2], "end") : Text("...", Origin::template_source);
  const int64_t leeway = bound.given(3) ? bound.integer(3, 5) : 5;
  const auto end_length = static_cast<int64_t>(count_code_points(end.view()));
  if (length < end_length) fail("expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  if (leeway < 0) fail("expected leeway >= 0, got " + std::to_string(leeway));
  if (require_length(value) - leeway <= length) return value;
  const Text& text = require_text(value, "truncate's value");
  Text kept = text.substr(0, offset_of(text.view(), static_cast<size_t>(length - end_length)));
  if (!bound.flag(1, false)) {
    const size_t space = kept.view().rfind(' ');
    if (space != std::string_view::npos) kept = kept.substr(0, space);
  }
  kept.append(end);
  return make_text(std::move(kept), value);
}

Value word_count_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_wordcount", arguments, {});
  const Text text = to_text(value);
  int64_t count = 0;
  bool in_word = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text.view(), i);
    const bool word = is_word(point.code);
    if (word && !in_word) ++count;
    in_word = word;
    i += point.bytes;
  }
  return Value::integer(count);
}

void append_quoted(const Text& text, bool for_query, Text& out) {
  static constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes()[i];
    const Origin origin = text.origin_at(i);
    if (kSafe.find(c) != std::string_view::npos || (c == '/' && !for_query)) {
      out.append(std::string_view(&c, 1), origin);
    } else if (c == ' ' && for_query) {
      out.append("+", origin);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      const char hex[] = {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
      out.append(std::string_view(hex, 3), origin);
    }
  }
}

Value urlencode_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_urlencode", arguments, {});
  Text out;
  if (value.is_string() || !is_iterable(value)) {
    append_quoted(to_text(value), false, out);
    return Value::text(std::move(out));
  }
  const std::vector<Value> items =
      to_vector(value.is_dict() ? Value::object(std::make_shared<DictView>(value, DictView::Part::items)) : value);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::vector<Value> pair = to_vector(items[i]);
    if (pair.size() != 2) fail("urlencode needs pairs of key and value");
    if (i > 0) out.append("&", Origin::template_source);
    append_quoted(to_text(pair[0]), true, out);
    out.append("=", Origin::template_source);
    append_quoted(to_text(pair[1]), true, out);
  }
  return Value::text(std::move(out));
}

Value tojson_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound.given(1)) {
    style.indented = true;
    style.item_separator = ",";
    if (bound[1].is_string()) {
      style.indent = bound[1].as_text().bytes();
    } else {
      const int64_t width = require_integer(bound[1], "indent");
      constexpr int64_t kIndentMax = 1000;
      if (width > kIndentMax) fail("tojson's indent is too large");
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (bound.given(2)) {
    const std::vector<Value> pair = to_vector(bound[2]);
    if (pair.size() != 2) fail("tojson's separators are two strings");
    style.item_separator = require_text(pair[0], "separator").bytes();
    style.key_separator = require_text(pair[1], "separator").bytes();
  }
  return to_json(value, style);
}

}  // namespace

void add_text_filters(FilterTable& table) {
  table["upper"] = mapped<upper>;
  table["lower"] = mapped<lower>;
  table["capitalize"] = mapped<capitalize>;
  table["title"] = title_filter;
  table["trim"] = trim_filter;
  table["replace"] = replace_filter;
  table["e"] = table["escape"] = escape_filter;
  table["forceescape"] = force_escape_filter;
  table["safe"] = safe_filter;
  table["string"] = string_filter;
  table["indent"] = indent_filter;
  table["center"] = center_filter;
  table["format"] = format_filter;
  table["truncate"] = truncate_filter;
  table["wordcount"] = word_count_filter;
  table["urlencode"] = urlencode_filter;
  table["tojson"] = tojson_filter;
}

}  // namespace takt::text::jinja
