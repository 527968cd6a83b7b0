// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/error.h"

namespace takt::gguf {

// Owns one mapping; move-only. The mapping is private and read-only, but it is not a copy: a file that another
// process truncates while it is mapped makes later reads fail with SIGBUS, as with every mapped file.
class Mapping {
 public:
  // Errors: not_found, io (not a regular file, unreadable, or the system refuses the mapping), invalid_file (empty).
  static base::Result<Mapping> map(const std::string& path);

  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  bool contains(std::span<const std::byte> span) const;
  // Tells the system that the whole pages inside `span` are not needed now: it may drop them from memory and reads
  // them again when touched. No effect on content. Precondition: contains(span).
  void advise_dont_need(std::span<const std::byte> span) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace takt::gguf
