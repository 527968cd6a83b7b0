#include "scheduler/pages/residents.h"

#include <algorithm>
#include <cassert>

namespace takt::scheduler {

Residents::Residents(const contract::Capacity& capacity, PrefillQueue& queue)
    : page_tokens_(capacity.page_tokens), rows_max_(capacity.rows_max), pages_(capacity.page_count), queue_(queue) {}

bool Residents::try_start(Sequence& sequence, contract::StepPlan& plan) {
  if (!has_room_for(sequence)) {
    if (!can_evict_enough(sequence)) return false;
    while (!has_room_for(sequence)) preempt(**residents_.rbegin(), plan);
  }
  queue_.remove(sequence);
  sequence.stage = Stage::prefilling;
  residents_.insert(&sequence);
  return true;
}

bool Residents::has_room_for(const Sequence& sequence) const {
  return count() < rows_max_ && pages_.free_count() >= pages_to_start(sequence);
}

// Its own, those that part-done prompts still need, and one for each resident to grow into.
uint32_t Residents::pages_to_start(const Sequence& sequence) const {
  return pages_for(sequence.length(), page_tokens_) + pages_promised() + count();
}

// Pages that residents still need for what they are prefilling.
uint32_t Residents::pages_promised() const {
  uint32_t page_count = 0;
  for (const Sequence* resident : residents_) {
    if (resident->stage != Stage::prefilling) continue;
    page_count += pages_for(resident->length(), page_tokens_) - static_cast<uint32_t>(resident->pages.size());
  }
  return page_count;
}

// Would preempting residents from the last one on, as long as they rank behind, make room?
bool Residents::can_evict_enough(const Sequence& sequence) const {
  uint32_t pages_needed = pages_to_start(sequence);
  uint32_t rows = count();
  uint64_t pages_free = pages_.free_count();
  for (auto it = residents_.rbegin(); it != residents_.rend(); ++it) {
    const Sequence& resident = **it;
    if (resident.rank < sequence.rank) return false;
    rows -= 1;
    pages_free += resident.pages.size();
    pages_needed -= 1;  // nothing is kept for it to grow into
    if (resident.stage == Stage::prefilling) {
      pages_needed -= pages_for(resident.length(), page_tokens_) - static_cast<uint32_t>(resident.pages.size());
    }
    if (rows < rows_max_ && pages_free >= pages_needed) return true;
  }
  return false;
}

uint32_t Residents::grow(Sequence& sequence, uint32_t tokens, contract::StepPlan& plan,
                         std::vector<contract::PageId>& pages_added) {
  const uint32_t pages_wanted = pages_for(tokens, page_tokens_);
  while (sequence.pages.size() < pages_wanted) {
    const std::optional<contract::PageId> page = pages_.try_take();
    if (page) {
      sequence.pages.push_back(*page);
      pages_added.push_back(*page);
      continue;
    }
    Sequence& last = **residents_.rbegin();
    if (&last == &sequence) break;  // it is the one to give way: it stands still and keeps what it has
    preempt(last, plan);
  }
  return std::min<uint64_t>(tokens, uint64_t{sequence.pages.size()} * page_tokens_);
}

void Residents::preempt(Sequence& victim, contract::StepPlan& plan) {
  assert(!victim.is_in_step);
  // The step is not planned in rank order throughout, so one that ranks before it may still take its place in it.
  std::erase_if(plan.decode_rows, [&](const contract::DecodeRow& row) { return row.request == victim.id; });
  std::erase_if(plan.prefill_chunks, [&](const contract::PrefillChunk& chunk) { return chunk.request == victim.id; });
  release_pages(victim);
  residents_.erase(&victim);
  victim.stage = Stage::waiting;
  victim.tokens_evaluated = 0;
  queue_.add(victim);
  plan.preempted.push_back(victim.id);
}

void Residents::remove(Sequence& sequence) {
  release_pages(sequence);
  residents_.erase(&sequence);
}

void Residents::release_pages(Sequence& sequence) {
  // From the last to the first, so that the pool gives them out in the same order again.
  for (auto it = sequence.pages.rbegin(); it != sequence.pages.rend(); ++it) pages_.release(*it);
  sequence.pages.clear();
}

Sequence* Residents::first_after(const Rank& rank, Stage stage) const {
  for (auto it = residents_.upper_bound(rank); it != residents_.end(); ++it) {
    if ((*it)->stage == stage) return *it;
  }
  return nullptr;
}

}  // namespace takt::scheduler
