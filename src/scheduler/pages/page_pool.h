// The KV pages as numbers: which are free, and how many owners each other one has. The bytes belong to the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "contract/ids.h"

namespace takt::scheduler {

class PagePool {
 public:
  explicit PagePool(uint32_t page_count);

  // A page with one owner; nothing when all are in use. The page freed last comes first: it is the likeliest to be in a
  // processor cache. Fresh pages come in ascending order.
  std::optional<contract::PageId> try_take();
  // One more owner (a shared prefix). Precondition: the page is in use.
  void add_owner(contract::PageId page);
  // One owner less; the last one frees the page. Precondition: the page is in use.
  void release(contract::PageId page);

  uint32_t owner_count(contract::PageId page) const { return owner_counts_[page.value]; }
  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t page_count() const { return static_cast<uint32_t>(owner_counts_.size()); }
  uint32_t used_count() const { return page_count() - free_count(); }

 private:
  std::vector<uint32_t> owner_counts_;  // [page]; 0: free
  std::vector<contract::PageId> free_;  // taken from the back
};

// Pages that hold `tokens` positions.
constexpr uint32_t pages_for(uint32_t tokens, uint32_t page_tokens) {
  return tokens / page_tokens + (tokens % page_tokens != 0 ? 1 : 0);
}

}  // namespace takt::scheduler
