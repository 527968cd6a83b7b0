// The sequences that wait for their first prefill chunk (or, after a preemption, for their first one again), in rank
// order.
#pragma once

#include <cstdint>
#include <set>

#include "base/units.h"
#include "scheduler/sequence.h"

namespace takt::scheduler {

class PrefillQueue {
 public:
  // Precondition: the sequence waits and is not in the queue.
  void add(Sequence& sequence);
  // Precondition: the sequence is in the queue; its length has not changed since add().
  void remove(Sequence& sequence);
  // The one to be served first; null when empty.
  Sequence* front() const { return waiting_.empty() ? nullptr : *waiting_.begin(); }

  uint32_t request_count() const { return static_cast<uint32_t>(waiting_.size()); }
  base::Tokens tokens() const { return tokens_; }  // to be evaluated, all together

 private:
  std::set<Sequence*, ByRank> waiting_;
  base::Tokens tokens_;
};

}  // namespace takt::scheduler
