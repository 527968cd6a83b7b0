#include "scheduler/prefill/prefill_chunks.h"

#include <algorithm>
#include <utility>

namespace takt::scheduler {

bool PrefillTurns::is_owed_a_chunk(const Sequence& sequence, const contract::StepPlan& plan) const {
  if (!plan.prefill_chunks.empty()) return false;
  return sequence.service_class == first_class_ || sequence.rank.due <= now_ || plan.decode_rows.empty();
}

uint32_t PrefillTurns::tokens_for(const Sequence& sequence, uint32_t begin, const StepBudget& budget,
                                  const contract::StepPlan& plan) const {
  const uint32_t tokens = budget.prefill_tokens_fitting(begin, sequence.length());
  if (tokens > 0 || !is_owed_a_chunk(sequence, plan)) return tokens;
  return budget.prefill_tokens_min(begin, sequence.length());
}

bool PrefillTurns::try_start(Sequence& newcomer, contract::StepPlan& plan) {
  if (!gate_.may_start(newcomer)) {
    cannot_start_.set(static_cast<size_t>(newcomer.service_class));
    return false;
  }
  if (!residents_.try_start(newcomer, plan)) {
    cannot_start_.set();
    return false;
  }
  gate_.note_start(newcomer);
  return true;
}

void PrefillTurns::plan(StepBudget& budget, contract::StepPlan& plan) {
  Rank rank;  // of the last one served; before every other
  while (true) {
    Sequence* part_done = residents_.first_after(rank, Stage::prefilling);
    Sequence* newcomer = queue_.front(cannot_start_);
    const bool is_newcomer_first = newcomer && (!part_done || newcomer->rank < part_done->rank);
    Sequence* sequence = is_newcomer_first ? newcomer : part_done;
    if (!sequence) break;
    const uint32_t begin = is_newcomer_first ? sequence->tokens_cached_at_submit : sequence->tokens_evaluated;
    if (tokens_for(*sequence, begin, budget, plan) == 0) break;
    if (is_newcomer_first && !try_start(*newcomer, plan)) continue;
    rank = sequence->rank;
    contract::PrefillChunk chunk;
    chunk.request = sequence->id;
    chunk.begin = sequence->tokens_evaluated;
    // A newcomer that finds more in the cache than when it came begins at a dearer position: it gets a token all the same.
    const uint32_t tokens = std::max(1u, tokens_for(*sequence, chunk.begin, budget, plan));
    chunk.end = residents_.grow(*sequence, chunk.begin + tokens, plan, chunk.pages_added);
    if (chunk.end <= chunk.begin) continue;  // no page left: those behind may need none
    chunk.is_last = chunk.end == sequence->length();
    budget.add_prefill(chunk.begin, chunk.end, chunk.is_last);
    plan.prefill_chunks.push_back(std::move(chunk));
  }
}

}  // namespace takt::scheduler
