#include "scheduler/pages/page_pool.h"

#include <cassert>

namespace takt::scheduler {

PagePool::PagePool(uint32_t page_count) : owner_counts_(page_count, 0), is_cached_(page_count, false) {
  free_.reserve(page_count);
  for (uint32_t i = page_count; i > 0; --i) free_.push_back(contract::PageId{i - 1});
}

std::optional<contract::PageId> PagePool::try_take() {
  if (free_.empty()) return std::nullopt;
  const contract::PageId page = free_.back();
  free_.pop_back();
  assert(owner_counts_[page.value] == 0 && !is_cached_[page.value]);
  owner_counts_[page.value] = 1;
  return page;
}

void PagePool::add_owner(contract::PageId page) {
  assert(page.value < owner_counts_.size() && (owner_counts_[page.value] > 0 || is_cached_[page.value]));
  if (owner_counts_[page.value]++ == 0) --idle_count_;
}

void PagePool::release(contract::PageId page) {
  assert(page.value < owner_counts_.size() && owner_counts_[page.value] > 0);
  if (--owner_counts_[page.value] > 0) return;
  if (is_cached_[page.value]) {
    ++idle_count_;
  } else {
    free_.push_back(page);
  }
}

void PagePool::cache(contract::PageId page) {
  assert(page.value < owner_counts_.size() && owner_counts_[page.value] > 0 && !is_cached_[page.value]);
  is_cached_[page.value] = true;
}

void PagePool::uncache(contract::PageId page) {
  assert(page.value < owner_counts_.size() && is_cached_[page.value]);
  is_cached_[page.value] = false;
  if (owner_counts_[page.value] > 0) return;
  --idle_count_;
  free_.push_back(page);
}

}  // namespace takt::scheduler
