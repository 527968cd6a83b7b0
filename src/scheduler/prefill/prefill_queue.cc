#include "scheduler/prefill/prefill_queue.h"

#include <cassert>

namespace takt::scheduler {

void PrefillQueue::add(Sequence& sequence) {
  assert(sequence.stage == Stage::waiting && sequence.pages.empty());
  const bool is_new = waiting_[static_cast<size_t>(sequence.service_class)].insert(&sequence).second;
  assert(is_new);
  (void)is_new;
  ++request_count_;
  tokens_ += base::Tokens(sequence.tokens_unevaluated());
}

void PrefillQueue::remove(Sequence& sequence) {
  const size_t removed_count = waiting_[static_cast<size_t>(sequence.service_class)].erase(&sequence);
  assert(removed_count == 1);
  (void)removed_count;
  --request_count_;
  tokens_ -= base::Tokens(sequence.tokens_unevaluated());
}

Sequence* PrefillQueue::front(ClassSet without) const {
  Sequence* first = nullptr;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (without[i] || waiting_[i].empty()) continue;
    Sequence* candidate = *waiting_[i].begin();
    if (!first || candidate->rank < first->rank) first = candidate;
  }
  return first;
}

}  // namespace takt::scheduler
