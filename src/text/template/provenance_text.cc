#include "text/template/provenance_text.h"

#include <algorithm>

namespace takt::text::jinja {

Origin Text::origin_at(size_t offset) const {
  const auto flips = std::upper_bound(flips_.begin(), flips_.end(), offset) - flips_.begin();
  return flipped(static_cast<size_t>(flips));
}

bool Text::any_from_user() const { return !bytes_.empty() && (first_ == Origin::user || !flips_.empty()); }

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    flips_.clear();
    first_ = origin;
  } else if (last() != origin) {
    flips_.push_back(bytes_.size());
  }
  bytes_.append(bytes);
}

void Text::append(const Text& other) { append_range(other, 0, other.size()); }

void Text::append_range(const Text& other, size_t begin, size_t end) {
  if (&other == this) {
    const Text copy = other;
    append_range(copy, begin, end);
    return;
  }
  size_t at = begin;
  auto flip = std::upper_bound(other.flips_.begin(), other.flips_.end(), begin);
  while (at < end) {
    const size_t stop = flip == other.flips_.end() ? end : std::min(end, *flip);
    append(std::string_view(other.bytes_).substr(at, stop - at),
           other.flipped(static_cast<size_t>(flip - other.flips_.begin())));
    at = stop;
    if (flip != other.flips_.end()) ++flip;
  }
}

Text Text::substr(size_t begin, size_t end) const {
  Text result;
  result.append_range(*this, begin, end);
  return result;
}

std::vector<RenderedSegment> Text::segments() const {
  std::vector<RenderedSegment> result;
  size_t at = 0;
  for (size_t i = 0; i <= flips_.size() && !bytes_.empty(); ++i) {
    const size_t stop = i < flips_.size() ? flips_[i] : bytes_.size();
    result.push_back({bytes_.substr(at, stop - at), flipped(i) == Origin::user});
    at = stop;
  }
  return result;
}

Text Text::derived(std::string bytes) const {
  return Text(std::move(bytes), any_from_user() ? Origin::user : Origin::template_source);
}

}  // namespace takt::text::jinja
