#include <sys/mman.h>

#include <string>
#include <utility>

#include "model/weights/weights.h"

namespace takt::model {

base::Result<Buffer> Buffer::allocate(size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return base::Error{base::ErrorCode::out_of_memory,
                       "the system refuses " + std::to_string(bytes) + " bytes of memory"};
  buffer.data_ = static_cast<std::byte*>(memory);
  buffer.size_ = bytes;
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace takt::model
