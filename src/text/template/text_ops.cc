#include "text/template/text_ops.h"

#include <algorithm>

#include "text/template/limits.h"
#include "text/template/text_search.h"

namespace takt::text::jinja {
namespace {

bool in_set(std::string_view set, uint32_t code) {
  for (size_t i = 0; i < set.size();) {
    const CodePoint point = decode(set, i);
    if (point.code == code) return true;
    i += point.bytes;
  }
  return false;
}

void check_size(const Text& text) { Budget::require(text.size() + text.flip_count() * sizeof(size_t)); }

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint point = decode(text, at);
    if (!is_space(point.code)) break;
    at += point.bytes;
  }
  return at;
}

size_t skip_word(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint point = decode(text, at);
    if (is_space(point.code)) break;
    at += point.bytes;
  }
  return at;
}

// The same from the right: `at` is the end of what is looked at.
size_t skip_back(std::string_view text, size_t at, bool space) {
  while (at > 0) {
    const CodePoint point = decode_before(text.substr(0, at), at);
    if (is_space(point.code) != space) break;
    at -= point.bytes;
  }
  return at;
}

std::vector<Text> split_at_space(const Text& text, int64_t splits) {
  std::vector<Text> parts;
  const std::string_view view = text.view();
  for (size_t at = skip_space(view, 0); at < view.size();) {
    if (splits >= 0 && static_cast<int64_t>(parts.size()) >= splits) {
      parts.push_back(text.substr(at, view.size()));
      break;
    }
    const size_t end = skip_word(view, at);
    parts.push_back(text.substr(at, end));
    at = skip_space(view, end);
  }
  return parts;
}

std::vector<Text> split_at_space_from_right(const Text& text, int64_t splits) {
  std::vector<Text> parts;
  const std::string_view view = text.view();
  for (size_t end = skip_back(view, view.size(), true); end > 0;) {
    if (splits >= 0 && static_cast<int64_t>(parts.size()) >= splits) {
      parts.push_back(text.substr(0, end));
      break;
    }
    const size_t begin = skip_back(view, end, false);
    parts.push_back(text.substr(begin, end));
    end = skip_back(view, begin, true);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Applies convert(code, out) to each character.
template <class Convert>
Text converted(const Text& text, const Convert& convert) {
  Budget::work(text.size() * 4);
  Text result;
  std::string buffer;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text.view(), i);
    buffer.clear();
    convert(point.code, buffer);
    result.append(buffer, text.origin_at(i));
    i += point.bytes;
  }
  return result;
}

}  // namespace

Text strip(const Text& text, std::optional<std::string_view> characters, bool left, bool right) {
  const auto removable = [&](uint32_t code) { return characters ? in_set(*characters, code) : is_space(code); };
  Budget::work(characters ? characters->size() : 0);
  const std::string_view view = text.view();
  size_t begin = 0, end = view.size();
  while (left && begin < end) {
    const CodePoint point = decode(view, begin);
    if (!removable(point.code)) break;
    begin += point.bytes;
    if (characters) Budget::work(characters->size());
  }
  while (right && end > begin) {
    const CodePoint point = decode_before(view.substr(0, end), end);
    if (!removable(point.code)) break;
    end -= point.bytes;
    if (characters) Budget::work(characters->size());
  }
  return text.substr(begin, end);
}

Text replace(const Text& text, std::string_view old, const Text& replacement, int64_t count) {
  Budget::work(text.size());
  Text result;
  const std::string_view view = text.view();
  size_t done = 0;
  size_t from = 0;
  for (; count != 0; --count) {
    const size_t found = find_text(view, old, from);
    if (found == std::string_view::npos) break;
    result.append_range(text, done, found);
    result.append(replacement);
    check_size(result);
    Budget::work(replacement.size());
    done = found + old.size();
    from = done;
    if (!old.empty()) continue;
    if (found >= view.size()) break;
    from = found + decode(view, found).bytes;
    result.append_range(text, done, from);
    done = from;
  }
  result.append_range(text, done, view.size());
  return result;
}

std::vector<Text> split(const Text& text, std::optional<std::string_view> separator, int64_t splits) {
  Budget::work(text.size());
  if (!separator) return split_at_space(text, splits);
  if (separator->empty()) fail("empty separator");
  std::vector<Text> parts;
  size_t at = 0;
  while (splits < 0 || static_cast<int64_t>(parts.size()) < splits) {
    const size_t found = find_text(text.view(), *separator, at);
    if (found == std::string_view::npos) break;
    Budget::step();
    parts.push_back(text.substr(at, found));
    at = found + separator->size();
  }
  parts.push_back(text.substr(at, text.size()));
  return parts;
}

std::vector<Text> split_from_right(const Text& text, std::optional<std::string_view> separator, int64_t splits) {
  Budget::work(text.size());
  if (!separator) return split_at_space_from_right(text, splits);
  if (separator->empty()) fail("empty separator");
  std::vector<Text> parts;
  size_t end = text.size();
  while (splits < 0 || static_cast<int64_t>(parts.size()) < splits) {
    if (end < separator->size()) break;
    const size_t found = find_last_text(text.view().substr(0, end), *separator);
    if (found == std::string_view::npos) break;
    Budget::step();
    parts.push_back(text.substr(found + separator->size(), end));
    end = found;
  }
  parts.push_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  Budget::work(text.size());
  std::vector<Text> lines;
  const std::string_view view = text.view();
  size_t begin = 0;
  for (size_t i = 0; i < view.size();) {
    const CodePoint point = decode(view, i);
    const size_t end = i;
    i += point.bytes;
    if (!is_line_break(point.code)) continue;
    if (point.code == '\r' && i < view.size() && view[i] == '\n') ++i;
    Budget::step();
    lines.push_back(text.substr(begin, keep_ends ? i : end));
    begin = i;
  }
  if (begin < view.size()) lines.push_back(text.substr(begin, view.size()));
  return lines;
}

Text join(const Text& separator, const std::vector<Text>& parts) {
  Text result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result.append(separator);
    result.append(parts[i]);
    check_size(result);
  }
  return result;
}

Text upper(const Text& text) {
  return converted(text, [](uint32_t code, std::string& out) { append_case(code, Case::upper, out); });
}

Text lower(const Text& text) {
  return converted(text, [](uint32_t code, std::string& out) { append_case(code, Case::lower, out); });
}

Text title(const Text& text) {
  bool after_cased = false;
  return converted(text, [&](uint32_t code, std::string& out) {
    append_case(code, after_cased ? Case::lower : Case::title, out);
    after_cased = is_uppercase(code) || is_lowercase(code) || is_titlecase(code);
  });
}

Text capitalize(const Text& text) {
  bool first = true;
  return converted(text, [&](uint32_t code, std::string& out) {
    append_case(code, first ? Case::title : Case::lower, out);
    first = false;
  });
}

Text swap_case(const Text& text) {
  return converted(text, [](uint32_t code, std::string& out) {
    append_case(code, is_uppercase(code) ? Case::lower : Case::upper, out);
  });
}

Text pad(const Text& text, int64_t left, int64_t right, const Text& fill) {
  constexpr int64_t kPadMax = int64_t{1} << 32;
  if (left > kPadMax || right > kPadMax) fail("a padded string is too long");
  const auto left_count = static_cast<size_t>(std::max<int64_t>(left, 0));
  const auto right_count = static_cast<size_t>(std::max<int64_t>(right, 0));
  Budget::require((left_count + right_count) * fill.size() + text.size());
  Budget::work((left_count + right_count) * 4);
  Text result;
  for (size_t i = 0; i < left_count; ++i) result.append(fill);
  result.append(text);
  for (size_t i = 0; i < right_count; ++i) result.append(fill);
  return result;
}

}  // namespace takt::text::jinja
