#include "text/template/text_search.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "text/template/limits.h"

namespace takt::text::jinja {
namespace {

constexpr size_t kShortNeedleBytes = 32;  // the library's search compares at most this much per position

// Knuth, Morris and Pratt: border[i] is the length of the longest proper prefix of needle[0, i] that is also its suffix.
template <class Iterator>
std::vector<size_t> borders(Iterator needle, size_t size) {
  std::vector<size_t> border(size, 0);
  for (size_t i = 1, matched = 0; i < size; ++i) {
    while (matched > 0 && needle[i] != needle[matched]) matched = border[matched - 1];
    if (needle[i] == needle[matched]) ++matched;
    border[i] = matched;
  }
  return border;
}

// Where needle first ends in text (one past it), or npos.
template <class Iterator>
size_t search(Iterator text, size_t text_size, Iterator needle, size_t needle_size) {
  const std::vector<size_t> border = borders(needle, needle_size);
  for (size_t i = 0, matched = 0; i < text_size; ++i) {
    while (matched > 0 && text[i] != needle[matched]) matched = border[matched - 1];
    if (text[i] == needle[matched]) ++matched;
    if (matched == needle_size) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const bool is_short = needle.size() <= kShortNeedleBytes;
  if (text.size() - from < needle.size()) return std::string_view::npos;
  size_t found;
  if (is_short) {
    found = text.find(needle, from);
  } else {
    const size_t end =
        search(text.begin() + static_cast<std::ptrdiff_t>(from), text.size() - from, needle.begin(), needle.size());
    found = end == std::string_view::npos ? end : from + end - needle.size();
  }
  Budget::work(2 * ((found == std::string_view::npos ? text.size() : found + needle.size()) - from));
  return found;
}

size_t find_last_text(std::string_view text, std::string_view needle) {
  if (text.size() < needle.size()) return std::string_view::npos;
  size_t found;
  if (needle.size() <= kShortNeedleBytes) {
    found = text.rfind(needle);
  } else {
    const size_t end = search(text.rbegin(), text.size(), needle.rbegin(), needle.size());
    found = end == std::string_view::npos ? end : text.size() - end;
  }
  Budget::work(2 * (found == std::string_view::npos ? text.size() : text.size() - found));
  return found;
}

}  // namespace takt::text::jinja
