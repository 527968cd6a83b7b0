// The bytes of all KV pages. Which page belongs to whom is decided in scheduler/pages; here a page is only a place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "contract/ids.h"
#include "model/model.h"

namespace takt::engine {

// A sequence's pages as the attention kernels want them: per layer, one pointer per page in order of position.
struct PageTable {
  std::vector<contract::PageId> ids;
  std::vector<std::vector<std::byte*>> layers;  // [layer][page]
};

class KvMemory {
 public:
  // Reserves the address range; the system gives a page's memory when it is first written. Errors: out_of_memory.
  static base::Result<KvMemory> create(const model::Model& model, uint32_t page_count);
  // Precondition: id < page_count (asserted).
  void append(PageTable& table, contract::PageId id) const;
  void clear(PageTable& table) const;
  void copy_page(contract::PageId from, contract::PageId to) const;
  uint32_t page_count() const { return page_count_; }
  base::Bytes bytes_per_page() const { return base::Bytes(static_cast<int64_t>(page_stride_)); }

 private:
  model::Buffer buffer_;  // [page][layer]
  std::vector<size_t> layer_offsets_;
  size_t page_stride_ = 0;
  uint32_t page_count_ = 0;
};

}  // namespace takt::engine
