// Reading position in a file's bytes; no read passes the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace takt::gguf {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }

  // False, and no movement, when fewer bytes remain.
  template <class T>
  [[nodiscard]] bool try_read(T& out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return true;
  }

  // Precondition: length <= remaining().
  std::span<const std::byte> take(uint64_t length) {
    const auto span = bytes_.subspan(offset_, length);
    offset_ += length;
    return span;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

}  // namespace takt::gguf
