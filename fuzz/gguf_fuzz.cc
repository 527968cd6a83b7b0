// Any bytes to gguf::File, and through every reader of what came out. The rules under test: no crash, no read outside
// the bytes (each input is a heap copy of its exact length), no hang, no allocation beyond a small multiple of the
// input (run with -malloc_limit_mb=2 and -max_len=65536), and a message with every refusal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gguf/file.h"

namespace {

void require(bool is_true) {
  if (!is_true) std::abort();
}

template <class T>
void require_message(const takt::base::Result<T>& result) {
  require(result || !result.error().message.empty());
}

uint64_t touch(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<uint64_t>(byte);
  return sum;
}

uint64_t read_value(const takt::gguf::File& file, const takt::gguf::Value& value) {
  require(file.find(value.key) == &value);
  require_message(file.u32(value.key));
  require_message(file.f32(value.key));
  require_message(file.boolean(value.key));
  require_message(file.string(value.key));
  require_message(file.u32_per_layer(value.key, 3));
  uint64_t sum = touch(value.bytes);
  if (const auto strings = file.strings(value.key))
    for (const std::string_view text : *strings) sum += touch(std::as_bytes(std::span(text)));
  if (const auto integers = file.integers(value.key))
    for (size_t i = 0; i < integers->size(); ++i) sum += static_cast<uint64_t>((*integers)[i]);
  if (const auto floats = file.floats(value.key))
    for (size_t i = 0; i < floats->size(); ++i) sum += (*floats)[i] > 0 ? 1 : 0;
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(begin, begin + size);
  const auto file = takt::gguf::File::parse(bytes);
  require_message(file);
  if (!file) return 0;
  volatile uint64_t sum = 0;
  for (const auto& value : (*file)->values()) sum = sum + read_value(**file, value);
  uint64_t tensor_bytes = 0;
  for (const auto& tensor : (*file)->tensors()) {
    require((*file)->find_tensor(tensor.name) == &tensor);
    require(tensor.is_size_known == !tensor.bytes.empty());
    sum = sum + touch(tensor.bytes);
    tensor_bytes += tensor.bytes.size();
  }
  require(tensor_bytes <= size);  // tensors do not overlap
  return 0;
}
