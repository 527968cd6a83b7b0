#include "engine/kv_memory.h"

#include <cassert>
#include <cstring>
#include <string>

namespace takt::engine {

base::Result<KvMemory> KvMemory::create(const model::Model& model, uint32_t page_count) {
  KvMemory memory;
  for (uint32_t layer = 0; layer < model.spec.layer_count; ++layer) {
    memory.layer_offsets_.push_back(memory.page_stride_);
    memory.page_stride_ += model.kernel_set->kv_page_bytes(model.attention_shape(layer));
  }
  size_t bytes = 0;
  if (__builtin_mul_overflow(memory.page_stride_, static_cast<size_t>(page_count), &bytes))
    return base::Error{base::ErrorCode::out_of_memory,
                       "the KV cache of " + std::to_string(page_count) + " pages is too large"};
  auto buffer = model::Buffer::allocate(bytes);
  if (!buffer) return buffer.error();
  memory.buffer_ = std::move(buffer).value();
  memory.page_count_ = page_count;
  return memory;
}

void KvMemory::append(PageTable& table, contract::PageId id) const {
  assert(id.value < page_count_);
  table.ids.push_back(id);
  table.layers.resize(layer_offsets_.size());
  std::byte* page = buffer_.data() + page_stride_ * id.value;
  for (size_t layer = 0; layer < layer_offsets_.size(); ++layer)
    table.layers[layer].push_back(page + layer_offsets_[layer]);
}

void KvMemory::clear(PageTable& table) const {
  table.ids.clear();
  for (auto& layer : table.layers) layer.clear();
}

void KvMemory::copy_page(contract::PageId from, contract::PageId to) const {
  assert(from.value < page_count_ && to.value < page_count_);
  std::memcpy(buffer_.data() + page_stride_ * to.value, buffer_.data() + page_stride_ * from.value, page_stride_);
}

}  // namespace takt::engine
