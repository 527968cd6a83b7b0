// The methods of str.
#include <algorithm>
#include <unordered_map>

#include "text/template/builtins.h"
#include "text/template/format_brace.h"
#include "text/template/limits.h"
#include "text/template/text_ops.h"
#include "text/template/text_search.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

using Method = Value (*)(const Value& self, Arguments& arguments);

void no_arguments(std::string_view name, Arguments& arguments) { const BoundArguments none(name, arguments, {}); }

template <Text (*convert)(const Text&)>
Value mapped(const Value& self, Arguments& arguments) {
  no_arguments("this method", arguments);
  return make_text(convert(self.as_text()), self);
}

template <bool left, bool right>
Value stripped(const Value& self, Arguments& arguments) {
  const BoundArguments bound("strip", arguments, {"chars"});
  std::optional<std::string_view> characters;
  if (bound.given(0)) characters = require_text(bound[0], "strip arg").view();
  return make_text(strip(self.as_text(), characters, left, right), self);
}

Value texts_to_list(std::vector<Text> parts, const Value& self) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(make_text(std::move(part), self));
  return Value::list(std::move(items));
}

template <std::vector<Text> (*cut)(const Text&, std::optional<std::string_view>, int64_t)>
Value split_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("split", arguments, {"sep", "maxsplit"});
  std::optional<std::string_view> separator;
  if (bound.given(0)) separator = require_text(bound[0], "must be str or None, not separator").view();
  return texts_to_list(cut(self.as_text(), separator, bound.integer(1, -1)), self);
}

Value splitlines_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("splitlines", arguments, {"keepends"});
  return texts_to_list(split_lines(self.as_text(), bound.flag(0, false)), self);
}

// self[start:stop] for the methods that take bounds, and the index at which it starts.
Value bounded(const Value& self, const BoundArguments& bound, int64_t& start) {
  start = 0;
  if (!bound.given(1) && !bound.given(2)) return self;
  const int64_t size = require_length(self);
  start = bound.given(1) ? bound.integer(1, 0) : 0;
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  if (start > size) start = size + 1;  // past the end: not even "" is found
  return slice(self, bound.value_or(1, {}), bound.value_or(2, {}), {});
}

template <bool at_start>
bool has_affix(const Text& text, const Value& affix) {
  const std::string_view view = require_text(affix, "affix").view();
  return at_start ? text.view().starts_with(view) : text.view().ends_with(view);
}

template <bool at_start>
Value affix_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound(at_start ? "startswith" : "endswith", arguments, {"affix", "start", "end"}, 1);
  int64_t start = 0;
  const Value part = bounded(self, bound, start);
  const bool past_end = start > require_length(self);
  if (!bound[0].is_tuple()) {
    require_defined(bound[0]);
    if (!bound[0].is_string()) {
      fail(std::string(at_start ? "startswith" : "endswith") + " first arg must be str or a tuple of str, not " +
           std::string(type_name(bound[0])));
    }
    return Value::boolean(has_affix<at_start>(part.as_text(), bound[0]) && !past_end);
  }
  for (const Value& affix : bound[0].items()) {
    if (has_affix<at_start>(part.as_text(), affix) && !past_end) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool from_left, bool must_exist>
Value find_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("find", arguments, {"sub", "start", "end"}, 1);
  int64_t start = 0;
  const Value part = bounded(self, bound, start);
  const std::string_view needle = require_text(bound[0], "find() argument 1").view();
  const std::string_view view = part.as_text().view();
  Budget::work(view.size());
  const size_t at = start > require_length(self) ? std::string_view::npos
                    : from_left                  ? find_text(view, needle)
                                                 : find_last_text(view, needle);
  if (at == std::string_view::npos) {
    if (must_exist) fail("substring not found");
    return Value::integer(-1);
  }
  return Value::integer(start + static_cast<int64_t>(count_code_points(view.substr(0, at))));
}

Value count_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("count", arguments, {"sub", "start", "end"}, 1);
  int64_t start = 0;
  const Value part = bounded(self, bound, start);
  const std::string_view needle = require_text(bound[0], "count() argument 1").view();
  if (start > require_length(self)) return Value::integer(0);
  if (needle.empty()) return Value::integer(require_length(part) + 1);
  const std::string_view view = part.as_text().view();
  Budget::work(view.size());
  int64_t count = 0;
  for (size_t at = find_text(view, needle); at != std::string_view::npos;
       at = find_text(view, needle, at + needle.size()))
    ++count;
  return Value::integer(count);
}

Value replace_method(const Value& self, Arguments& arguments) {
  if (!arguments.named.empty()) fail("str.replace() takes no keyword arguments");
  const BoundArguments bound("replace", arguments, {"old", "new", "count"}, 2);
  const Text& old = require_text(bound[0], "replace() argument 1");
  require_text(bound[1], "replace() argument 2");
  const Text replacement = self.is_markup() ? escaped(bound[1]) : bound[1].as_text();
  return make_text(replace(self.as_text(), old.view(), replacement, bound.integer(2, -1)), self);
}

Value join_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("join", arguments, {"iterable"}, 1);
  if (!is_iterable(bound[0])) fail("can only join an iterable");
  std::vector<Text> parts;
  iterate(bound[0], [&](const Value& item) {
    if (!self.is_markup() && !item.is_string()) {
      fail("sequence item " + std::to_string(parts.size()) + ": expected str instance, " +
           std::string(type_name(item)) + " found");
    }
    parts.push_back(self.is_markup() ? escaped(item) : item.as_text());
    return true;
  });
  return make_text(join(self.as_text(), parts), self);
}

enum class Justify { left, right, center };

template <Justify justify>
Value pad_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("justify", arguments, {"width", "fillchar"}, 1);
  Text fill(" ", Origin::template_source);
  if (bound.has(1)) {
    require_text(bound[1], "The fill character");
    fill = self.is_markup() ? escaped(bound[1]) : bound[1].as_text();
  }
  if (count_code_points(fill.view()) != 1) fail("The fill character must be exactly one character long");
  const int64_t width = bound.integer(0, 0);
  const int64_t size = require_length(self);
  if (width <= size) return self;
  const int64_t space = width - size;
  // str.center puts the odd space to the left when the width is odd as well.
  const int64_t left = justify == Justify::left    ? 0
                       : justify == Justify::right ? space
                                                   : space / 2 + (space & width & 1);
  return make_text(pad(self.as_text(), left, space - left, fill), self);
}

Value zfill_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("zfill", arguments, {"width"}, 1);
  const Text& text = self.as_text();
  const int64_t missing = bound.integer(0, 0) - require_length(self);
  const size_t sign = !text.empty() && (text.bytes()[0] == '+' || text.bytes()[0] == '-') ? 1 : 0;
  Text result = text.substr(0, sign);
  result.append(pad(text.substr(sign, text.size()), missing, 0, Text("0", Origin::template_source)));
  return make_text(std::move(result), self);
}

template <bool from_left>
Value partition_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("partition", arguments, {"sep"}, 1);
  const std::string_view separator = require_text(bound[0], "partition() argument").view();
  if (separator.empty()) fail("empty separator");
  const Text& text = self.as_text();
  const size_t at = from_left ? find_text(text.view(), separator) : find_last_text(text.view(), separator);
  const Value empty = make_text({}, self);
  if (at == std::string_view::npos) {
    const Value whole = make_text(text, self);
    return from_left ? Value::tuple({whole, empty, empty}) : Value::tuple({empty, empty, whole});
  }
  return Value::tuple({make_text(text.substr(0, at), self), make_text(bound[0].as_text(), self),
                       make_text(text.substr(at + separator.size(), text.size()), self)});
}

template <bool prefix>
Value remove_affix_method(const Value& self, Arguments& arguments) {
  const BoundArguments bound("removeprefix", arguments, {"affix"}, 1);
  const Text& text = self.as_text();
  const std::string_view affix = require_text(bound[0], "removeprefix() argument").view();
  const bool present = prefix ? text.view().starts_with(affix) : text.view().ends_with(affix);
  if (!present) return make_text(text, self);
  return make_text(prefix ? text.substr(affix.size(), text.size()) : text.substr(0, text.size() - affix.size()), self);
}

template <bool (*holds)(uint32_t)>
Value all_characters(const Value& self, Arguments& arguments) {
  no_arguments("this method", arguments);
  const std::string_view view = self.as_text().view();
  for (size_t i = 0; i < view.size();) {
    const CodePoint point = decode(view, i);
    if (!holds(point.code)) return Value::boolean(false);
    i += point.bytes;
  }
  return Value::boolean(!view.empty());
}

template <bool lower_wanted>
Value single_case(const Value& self, Arguments& arguments) {
  no_arguments("this method", arguments);
  const std::string_view view = self.as_text().view();
  bool found = false;
  for (size_t i = 0; i < view.size();) {
    const CodePoint point = decode(view, i);
    const bool is_lower = is_lowercase(point.code), is_upper = is_uppercase(point.code);
    if (is_titlecase(point.code) || (lower_wanted ? is_upper : is_lower)) return Value::boolean(false);
    found = found || (lower_wanted ? is_lower : is_upper);
    i += point.bytes;
  }
  return Value::boolean(found);
}

Value istitle_method(const Value& self, Arguments& arguments) {
  no_arguments("istitle", arguments);
  const std::string_view view = self.as_text().view();
  bool found = false, after_cased = false;
  for (size_t i = 0; i < view.size();) {
    const CodePoint point = decode(view, i);
    const bool is_lower = is_lowercase(point.code);
    const bool is_upper = is_uppercase(point.code) || is_titlecase(point.code);
    if ((is_upper && after_cased) || (is_lower && !after_cased)) return Value::boolean(false);
    after_cased = is_upper || is_lower;
    found = found || after_cased;
    i += point.bytes;
  }
  return Value::boolean(found);
}

bool is_alphanumeric(uint32_t code) {
  return is_alphabetic(code) || is_decimal(code) || is_digit(code) || is_numeric(code);
}
bool is_ascii(uint32_t code) { return code < 0x80; }

Value isascii_method(const Value& self, Arguments& arguments) {
  return self.as_text().empty() ? Value::boolean(true) : all_characters<is_ascii>(self, arguments);
}

Value isprintable_method(const Value& self, Arguments& arguments) {
  return self.as_text().empty() ? Value::boolean(true) : all_characters<is_printable>(self, arguments);
}

const std::unordered_map<std::string_view, Method>& methods() {
  static const std::unordered_map<std::string_view, Method> table = {{"capitalize", mapped<capitalize>},
                                                                     {"casefold", mapped<lower>},
                                                                     {"lower", mapped<lower>},
                                                                     {"swapcase", mapped<swap_case>},
                                                                     {"title", mapped<title>},
                                                                     {"upper", mapped<upper>},
                                                                     {"strip", stripped<true, true>},
                                                                     {"lstrip", stripped<true, false>},
                                                                     {"rstrip", stripped<false, true>},
                                                                     {"split", split_method<split>},
                                                                     {"rsplit", split_method<split_from_right>},
                                                                     {"splitlines", splitlines_method},
                                                                     {"startswith", affix_method<true>},
                                                                     {"endswith", affix_method<false>},
                                                                     {"find", find_method<true, false>},
                                                                     {"rfind", find_method<false, false>},
                                                                     {"index", find_method<true, true>},
                                                                     {"rindex", find_method<false, true>},
                                                                     {"count", count_method},
                                                                     {"replace", replace_method},
                                                                     {"join", join_method},
                                                                     {"ljust", pad_method<Justify::left>},
                                                                     {"rjust", pad_method<Justify::right>},
                                                                     {"center", pad_method<Justify::center>},
                                                                     {"zfill", zfill_method},
                                                                     {"partition", partition_method<true>},
                                                                     {"rpartition", partition_method<false>},
                                                                     {"removeprefix", remove_affix_method<true>},
                                                                     {"removesuffix", remove_affix_method<false>},
                                                                     {"isalnum", all_characters<is_alphanumeric>},
                                                                     {"isalpha", all_characters<is_alphabetic>},
                                                                     {"isascii", isascii_method},
                                                                     {"isdecimal", all_characters<is_decimal>},
                                                                     {"isdigit", all_characters<is_digit>},
                                                                     {"isnumeric", all_characters<is_numeric>},
                                                                     {"isprintable", isprintable_method},
                                                                     {"isspace", all_characters<is_space>},
                                                                     {"islower", single_case<true>},
                                                                     {"isupper", single_case<false>},
                                                                     {"istitle", istitle_method}};
  return table;
}

}  // namespace

Value call_string_method(Interpreter& interpreter, const Value& self, std::string_view name, Arguments& arguments) {
  Budget::work(self.as_text().size() / 4);
  if (name == "format") return format_brace(interpreter, self, arguments);
  if (name == "format_map") {
    const BoundArguments bound("format_map", arguments, {"mapping"}, 1);
    if (!bound[0].is_dict()) fail("format_map() needs a mapping");
    Arguments mapping;
    for (const auto& [key, value] : bound[0].as_dict().entries()) {
      if (key.is_string()) mapping.named.emplace_back(key.as_text().bytes(), value);
    }
    return format_brace(interpreter, self, mapping);
  }
  const auto found = methods().find(name);
  if (found == methods().end()) fail("the str method '" + std::string(name) + "' is not supported");
  return found->second(self, arguments);
}

}  // namespace takt::text::jinja
