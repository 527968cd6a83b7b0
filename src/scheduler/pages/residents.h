// The sequences that own KV pages, and the rules by which pages come to them and move between them.
//
// Why this can neither deadlock nor starve anyone: ranks are a fixed total order. Pages are taken only from a sequence
// that ranks behind the one that needs them (of those, from whoever loses least: preemption_loss.h), so the resident that
// ranks first always gets what it needs (admission made sure that it fits the pool alone), ends after finitely many steps,
// and the next one is first. Nobody becomes resident past a waiting sequence that ranks before it, so the first of the
// queue gets its turn at the latest when the residents have ended. One that gave way takes nobody's pages when it comes
// back, or two could throw each other out in turns.
//
// The prefix cache changes none of this: a page without an owner is given up as soon as somebody wants it, so it counts
// as free, and a shared page makes a sequence need fewer.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "contract/service_policy.h"
#include "contract/step_plan.h"
#include "scheduler/pages/page_pool.h"
#include "scheduler/pages/preemption_loss.h"
#include "scheduler/pages/prefix_cache.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/sequence.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

class Residents {
 public:
  // `queue` receives the sequences that lose their pages. All but `capacity` outlive this object.
  Residents(const contract::Capacity& capacity, const contract::ServicePolicy& policy, const StepEstimator& estimator,
            PrefillQueue& queue);

  // A step is planned from now on: what a preemption costs depends on the time.
  void begin_step(base::Micros now) { now_ = now; }
  // Moves the first of the queue here if a row is free and the pages for its whole present length are, leaving one page
  // for each resident to grow into (or it would soon be thrown out again). Takes rows and pages from residents that
  // rank behind it if that suffices and it has not given way itself: they are of a lower class, or they would not have
  // come in first. Returns whether it is resident now. None that gives way comes back in the same step.
  // What is cached of its beginning counts as evaluated; `plan` gets the copy of a page that it shares in part.
  bool try_start(Sequence& sequence, contract::StepPlan& plan);
  // Appends pages to the sequence's table until it holds `tokens` positions, preempting residents that rank behind it,
  // those first that lose least, when the pool is empty. Returns the positions it holds now, `tokens` at most: fewer when pages ran out. If there are
  // more than are evaluated, `pages_added` gets the pages that the engine does not know yet.
  uint32_t grow(Sequence& sequence, uint32_t tokens, contract::StepPlan& plan,
                std::vector<contract::PageId>& pages_added);
  // The step has ended: what was only kept for its copies is released. Before any other call about its rows.
  void end_step();
  // Positions of a resident were evaluated: pages that they fill are shared from now on.
  void publish(Sequence& sequence);
  // The sequence ended: its pages are released and it is resident no more. What is evaluated stays cached, unless it is
  // not worth keeping (the engine failed).
  void remove(Sequence& sequence, bool is_kept);

  // Tokens of the sequence's beginning that are cached now, if it may read them.
  uint32_t cached_tokens(const Sequence& sequence) const;
  // Whether a row is free for a waiting sequence, but not the pages it starts with.
  bool lacks_pages_for(const Sequence& sequence) const {
    return count() < rows_max_ && !has_room_for(sequence, find_hit(sequence), 0);
  }
  // In rank order. Both of them may change the set while the caller walks it: so walk by first_after().
  const std::set<Sequence*, ByRank>& all() const { return residents_; }
  // The first resident in `stage` that ranks behind `rank`; null when there is none.
  Sequence* first_after(const Rank& rank, Stage stage) const;
  uint32_t count() const { return static_cast<uint32_t>(residents_.size()); }
  // Fills in the numbers about pages and the prefix cache.
  void count_pages(contract::Bounds& bounds) const;

 private:
  // A page that is copied in the planned step, for the sequence that goes on in the copy.
  struct Copied {
    const Sequence* sequence;
    contract::PageId from, to;
  };

  bool can_read_cache(const Sequence& sequence) const;
  PrefixCache::Hit find_hit(const Sequence& sequence) const;
  void take_hit(Sequence& sequence, const PrefixCache::Hit& hit, contract::StepPlan& plan);
  uint32_t pages_promised() const;
  uint32_t pages_to_start(const Sequence& sequence, const PrefixCache::Hit& hit) const;
  uint32_t pages_copied() const;
  bool has_room_for(const Sequence& sequence, const PrefixCache::Hit& hit, uint32_t pages_more) const;
  // Those that rank behind it, the one first that loses least.
  std::vector<Sequence*> victims_of(const Sequence& sequence) const;
  Sequence* cheapest_victim_of(const Sequence& sequence) const;
  bool can_evict_enough(const Sequence& sequence, const PrefixCache::Hit& hit,
                        const std::vector<Sequence*>& victims) const;
  bool try_evict(const Sequence& sequence, PrefixCache::Hit& hit, contract::StepPlan& plan);
  PreemptionLoss loss(const Sequence& resident) const;
  void preempt(Sequence& victim, contract::StepPlan& plan);
  void drop_copies_for(Sequence& sequence, contract::StepPlan& plan);
  void publish_all(Sequence& sequence);
  void release_pages(Sequence& sequence);
  std::vector<contract::TokenId> label(const Sequence& sequence, uint32_t begin, uint32_t end) const;

  uint32_t page_tokens_;
  uint32_t rows_max_;
  bool has_prefix_cache_;
  PrefixCache cache_;
  const contract::ServicePolicy& policy_;
  const StepEstimator& estimator_;
  PrefillQueue& queue_;
  base::Micros now_;
  std::set<Sequence*, ByRank> residents_;
  std::vector<Copied> copied_;  // their `from` has one owner more until the step ends
  uint64_t tokens_asked_ = 0;
  uint64_t tokens_hit_ = 0;
  uint64_t tokens_lost_ = 0;
  base::Micros time_lost_;
};

}  // namespace takt::scheduler
