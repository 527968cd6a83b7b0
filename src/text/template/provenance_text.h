// Bytes that remember where they came from. A chat template joins its own text ("<|im_start|>") with text that a
// caller wrote; only the former may become special tokens. So every string in the template engine carries, for each
// byte, one bit: from the caller or from the template's source.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace takt::text {

enum class Origin : bool { template_source = false, user = true };

// One maximal piece of one origin.
struct RenderedSegment {
  std::string text;
  bool from_user = false;
  bool operator==(const RenderedSegment&) const = default;
};

namespace jinja {

// A byte string (UTF-8 by convention) with an origin per byte, stored as the offsets at which the origin flips.
class Text {
 public:
  Text() = default;
  Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)), first_(origin) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // Precondition: offset < size().
  Origin origin_at(size_t offset) const;
  bool any_from_user() const;

  void append(std::string_view bytes, Origin origin);
  void append(const Text& other);
  // Appends other[begin, end). Precondition: begin <= end <= other.size(). Two overloads of substr's work, so that
  // replace, split and join cost no temporary.
  void append_range(const Text& other, size_t begin, size_t end);
  Text substr(size_t begin, size_t end) const;
  void reserve(size_t bytes) { bytes_.reserve(bytes); }

  // Maximal pieces of equal origin, in order; an empty text has none.
  std::vector<RenderedSegment> segments() const;
  // The same bytes, all of one origin.
  Text with_origin(Origin origin) const { return Text(bytes_, origin); }
  // `bytes` with the origin of this text: user if any byte here is the user's.
  Text derived(std::string bytes) const;
  size_t flip_count() const { return flips_.size(); }

 private:
  Origin flipped(size_t flip_count) const {
    return (flip_count % 2 != 0) != bool(first_) ? Origin::user : Origin::template_source;
  }
  Origin last() const { return flipped(flips_.size()); }

  std::string bytes_;
  std::vector<size_t> flips_;  // ascending, each in (0, size): the origin changes at this offset
  Origin first_ = Origin::template_source;
};

}  // namespace jinja
}  // namespace takt::text
