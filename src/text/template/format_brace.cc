#include "text/template/format_brace.h"

#include <algorithm>

#include "text/template/format_spec.h"
#include "text/template/limits.h"
#include "text/template/number_text.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Value& format, Arguments& arguments)
      : interpreter_(interpreter), format_(format), arguments_(arguments) {}

  Value run() { return Value::text(expand(format_.as_text(), 2), format_.is_markup()); }

 private:
  Text expand(const Text& text, int depth) {
    if (depth < 0) fail("Max string recursion exceeded");
    Text out;
    const std::string_view view = text.view();
    for (size_t at = 0; at < view.size();) {
      const size_t brace = view.find_first_of("{}", at);
      const size_t stop = brace == std::string_view::npos ? view.size() : brace;
      out.append_range(text, at, stop);
      if (stop == view.size()) break;
      if (stop + 1 < view.size() && view[stop + 1] == view[stop]) {
        out.append_range(text, stop, stop + 1);
        at = stop + 2;
        continue;
      }
      if (view[stop] == '}') fail("Single '}' encountered in format string");
      at = field(text, stop + 1, depth, out);
      Budget::step();
      Budget::require(out.size());
    }
    return out;
  }

  // The field that begins after the brace at `begin` - 1; returns where the text goes on.
  size_t field(const Text& text, size_t begin, int depth, Text& out) {
    const std::string_view view = text.view();
    size_t end = begin;
    for (int open = 1; open > 0; ++end) {
      if (end >= view.size()) fail("expected '}' before end of string");
      if (view[end] == '{') ++open;
      if (view[end] == '}') --open;
    }
    --end;  // at the closing brace
    size_t name_end = begin;
    bool in_brackets = false;
    while (name_end < end && (in_brackets || (view[name_end] != '!' && view[name_end] != ':'))) {
      if (view[name_end] == '[') in_brackets = true;
      if (view[name_end] == ']') in_brackets = false;
      ++name_end;
    }
    Value value = lookup(view.substr(begin, name_end - begin));
    size_t at = name_end;
    if (at < end && view[at] == '!') {
      if (at + 1 >= end) fail("end of string while looking for conversion specifier");
      const char conversion = view[at + 1];
      at += 2;
      if (at < end && view[at] != ':') fail("expected ':' after conversion specifier");
      if (conversion == 's')
        value = to_string_value(value);
      else if (conversion == 'r' || conversion == 'a') {
        value = Value::text(Text(repr(value), value.holds_user_text() ? Origin::user : Origin::template_source));
      } else {
        fail("Unknown conversion specifier " + std::string(1, conversion));
      }
    }
    Text spec;
    if (at < end && view[at] == ':') spec = expand(text.substr(at + 1, end), depth - 1);
    Text shown = value.is_markup() && format_.is_markup() ? value.as_text() : format_value(value, spec.view());
    if (format_.is_markup() && !value.is_markup()) shown = escaped(Value::text(std::move(shown)));
    out.append(shown);
    return end + 1;
  }

  Value lookup(std::string_view name) {
    size_t at = name.find_first_of(".[");
    if (at == std::string_view::npos) at = name.size();
    Value value = first_value(name.substr(0, at));
    while (at < name.size()) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) fail("Empty attribute in format string");
        value = interpreter_.get_attribute(value, name.substr(at + 1, end - at - 1));
        at = end;
      } else if (name[at] == '[') {
        const size_t end = name.find(']', at);
        if (end == std::string_view::npos) fail("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        if (key.empty()) fail("Empty attribute in format string");
        value =
            interpreter_.get_item(value, all_digits(key) ? Value::integer(parse_integer(key, 10).value_or(0))
                                                         : Value::string(std::string(key), Origin::template_source));
        at = end + 1;
      } else {
        fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  Value first_value(std::string_view name) {
    if (!name.empty() && !all_digits(name)) {
      const Value* const found = arguments_.find_named(name);
      if (found == nullptr) fail(repr(Value::string(std::string(name), Origin::template_source)));
      return *found;
    }
    int64_t index = 0;
    if (name.empty()) {
      if (manual_) fail("cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      index = next_index_++;
    } else {
      if (automatic_) fail("cannot switch from manual field specification to automatic field numbering");
      manual_ = true;
      index = parse_integer(name, 10).value_or(0);
    }
    if (index >= static_cast<int64_t>(arguments_.positional.size())) {
      fail("Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    }
    return arguments_.positional[static_cast<size_t>(index)];
  }

  Interpreter& interpreter_;
  const Value& format_;
  Arguments& arguments_;
  int64_t next_index_ = 0;
  bool automatic_ = false, manual_ = false;
};

}  // namespace

Value format_brace(Interpreter& interpreter, const Value& format, Arguments& arguments) {
  return BraceFormatter(interpreter, format, arguments).run();
}

}  // namespace takt::text::jinja
