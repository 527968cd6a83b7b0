#include "gguf/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

namespace takt::gguf {
namespace {

base::Error system_error(const std::string& path, const char* what) {
  const int number = errno;
  const auto code = number == ENOENT ? base::ErrorCode::not_found : base::ErrorCode::io;
  return {code, path + ": " + what + ": " + std::strerror(number)};
}

}  // namespace

base::Result<Mapping> Mapping::map(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer; it is refused below.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(path, "cannot open");
  struct stat status;
  if (::fstat(descriptor, &status) != 0) {
    const base::Error error = system_error(path, "cannot stat");
    ::close(descriptor);
    return error;
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return base::Error{base::ErrorCode::io, path + ": not a regular file"};
  }
  if (status.st_size == 0) {
    ::close(descriptor);
    return base::Error{base::ErrorCode::invalid_file, path + ": empty file, not a GGUF file (byte 0)"};
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    const base::Error error = system_error(path, "cannot map");
    ::close(descriptor);
    return error;
  }
  ::close(descriptor);
  Mapping mapping;
  mapping.data_ = static_cast<const std::byte*>(address);
  mapping.size_ = size;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

bool Mapping::contains(std::span<const std::byte> span) const {
  if (data_ == nullptr) return false;
  const std::less_equal<const std::byte*> before_or_at;
  return before_or_at(data_, span.data()) && before_or_at(span.data() + span.size(), data_ + size_);
}

void Mapping::advise_dont_need(std::span<const std::byte> span) const {
  // The mapping starts on a page, so page borders are multiples of the page size from its start. A page shared with a
  // neighbouring tensor stays.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto start = static_cast<size_t>(span.data() - data_);
  const size_t first = (start + page - 1) / page * page, last = (start + span.size()) / page * page;
  if (first < last) ::madvise(const_cast<std::byte*>(data_ + first), last - first, MADV_DONTNEED);
}

}  // namespace takt::gguf
