// The sequences that own KV pages, and the rules by which pages come to them and move between them.
//
// Why this can neither deadlock nor starve anyone: ranks are a fixed total order. Pages are taken only from a sequence
// that ranks behind the one that needs them, so the resident that ranks first always gets what it needs (admission made
// sure that it fits the pool alone), ends after finitely many steps, and the next one is first. Nobody becomes resident
// past a waiting sequence that ranks before it, so the first of the queue gets its turn at the latest when the
// residents have ended.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "contract/model_shape.h"
#include "contract/step_plan.h"
#include "scheduler/pages/page_pool.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/sequence.h"

namespace takt::scheduler {

class Residents {
 public:
  // `queue` receives the sequences that lose their pages. Both outlive this object.
  Residents(const contract::Capacity& capacity, PrefillQueue& queue);

  // Moves the first of the queue here if a row is free and the pages for its whole present length are, leaving one page
  // for each resident to grow into (or it would soon be thrown out again). Takes rows and pages from residents that
  // rank behind it if that suffices: they are of a lower class, or they would not have come in first. Returns whether
  // it is resident now. (None that gives way can come back in the same step: it needs at least the pages that it gave.)
  bool try_start(Sequence& sequence, contract::StepPlan& plan);
  // Appends pages to the sequence's table (and to `pages_added`) until it holds `tokens` positions, preempting
  // residents that rank behind it when the pool is empty. Returns the positions it holds now, `tokens` at most: fewer
  // when pages ran out.
  uint32_t grow(Sequence& sequence, uint32_t tokens, contract::StepPlan& plan,
                std::vector<contract::PageId>& pages_added);
  // The sequence ended: its pages are released and it is resident no more.
  void remove(Sequence& sequence);

  // In rank order. Both of them may change the set while the caller walks it: so walk by first_after().
  const std::set<Sequence*, ByRank>& all() const { return residents_; }
  // The first resident in `stage` that ranks behind `rank`; null when there is none.
  Sequence* first_after(const Rank& rank, Stage stage) const;
  uint32_t count() const { return static_cast<uint32_t>(residents_.size()); }
  const PagePool& pages() const { return pages_; }

 private:
  uint32_t pages_promised() const;
  uint32_t pages_to_start(const Sequence& sequence) const;
  bool has_room_for(const Sequence& sequence) const;
  bool can_evict_enough(const Sequence& sequence) const;
  void preempt(Sequence& victim, contract::StepPlan& plan);
  void release_pages(Sequence& sequence);

  uint32_t page_tokens_;
  uint32_t rows_max_;
  PagePool pages_;
  PrefillQueue& queue_;
  std::set<Sequence*, ByRank> residents_;
};

}  // namespace takt::scheduler
