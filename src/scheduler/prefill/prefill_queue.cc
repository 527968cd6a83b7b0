#include "scheduler/prefill/prefill_queue.h"

#include <cassert>

namespace takt::scheduler {

void PrefillQueue::add(Sequence& sequence) {
  assert(sequence.stage == Stage::waiting && sequence.pages.empty());
  const bool is_new = waiting_.insert(&sequence).second;
  assert(is_new);
  (void)is_new;
  tokens_ += base::Tokens(sequence.tokens_unevaluated());
}

void PrefillQueue::remove(Sequence& sequence) {
  const size_t removed_count = waiting_.erase(&sequence);
  assert(removed_count == 1);
  (void)removed_count;
  tokens_ -= base::Tokens(sequence.tokens_unevaluated());
}

}  // namespace takt::scheduler
