// The KV pages as numbers: which are free, how many owners each other one has, and which of those without owners still
// hold something worth keeping (scheduler/pages/prefix_cache.h). The bytes belong to the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "contract/ids.h"

namespace takt::scheduler {

class PagePool {
 public:
  explicit PagePool(uint32_t page_count);

  // A page with one owner; nothing when all are owned or cached. The page freed last comes first: it is the likeliest to
  // be in a processor cache. Fresh pages come in ascending order.
  std::optional<contract::PageId> try_take();
  // One more owner (a shared prefix). Precondition: the page has an owner or is cached.
  void add_owner(contract::PageId page);
  // One owner less; without owners the page is free, or idle if it is cached. Precondition: it has an owner.
  void release(contract::PageId page);
  // Keeps the page when its owners have gone. Precondition: it has an owner and is not cached.
  void cache(contract::PageId page);
  // The opposite: an idle page is free now. Precondition: it is cached.
  void uncache(contract::PageId page);

  uint32_t owner_count(contract::PageId page) const { return owner_counts_[page.value]; }
  bool is_cached(contract::PageId page) const { return is_cached_[page.value]; }
  uint32_t page_count() const { return static_cast<uint32_t>(owner_counts_.size()); }
  // Without owners: free ones, and idle ones, which are free as soon as somebody wants them.
  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()) + idle_count_; }
  uint32_t idle_count() const { return idle_count_; }
  uint32_t used_count() const { return page_count() - free_count(); }

 private:
  std::vector<uint32_t> owner_counts_;  // [page]
  std::vector<bool> is_cached_;         // [page]
  std::vector<contract::PageId> free_;  // taken from the back
  uint32_t idle_count_ = 0;             // cached, without owners
};

// Pages that hold `tokens` positions.
constexpr uint32_t pages_for(uint32_t tokens, uint32_t page_tokens) {
  return tokens / page_tokens + (tokens % page_tokens != 0 ? 1 : 0);
}

}  // namespace takt::scheduler
