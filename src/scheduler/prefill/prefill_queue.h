// The sequences that wait for their first prefill chunk (or, after a preemption, for their first one again), in rank
// order.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <set>

#include "base/units.h"
#include "contract/service_policy.h"
#include "scheduler/sequence.h"

namespace takt::scheduler {

using ClassSet = std::bitset<contract::kServiceClassCount>;

class PrefillQueue {
 public:
  // Precondition: the sequence waits and is not in the queue.
  void add(Sequence& sequence);
  // Precondition: the sequence is in the queue; its length has not changed since add().
  void remove(Sequence& sequence);
  // The one to be served first among the classes not in `without`; null when there is none.
  Sequence* front(ClassSet without = {}) const;
  // In rank order.
  const std::set<Sequence*, ByRank>& of(contract::ServiceClass service_class) const {
    return waiting_[static_cast<size_t>(service_class)];
  }

  uint32_t request_count() const { return request_count_; }
  base::Tokens tokens() const { return tokens_; }  // to be evaluated, all together

 private:
  std::array<std::set<Sequence*, ByRank>, contract::kServiceClassCount> waiting_;
  uint32_t request_count_ = 0;
  base::Tokens tokens_;
};

}  // namespace takt::scheduler
