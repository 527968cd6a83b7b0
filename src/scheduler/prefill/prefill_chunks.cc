#include "scheduler/prefill/prefill_chunks.h"

#include <algorithm>
#include <utility>

namespace takt::scheduler {
namespace {

// Returns the tokens planned: 0 when no page could be had.
uint32_t plan_chunk(Residents& residents, Sequence& sequence, uint32_t budget, contract::StepPlan& plan) {
  contract::PrefillChunk chunk;
  chunk.request = sequence.id;
  chunk.begin = sequence.tokens_evaluated;
  const uint32_t end_wanted = chunk.begin + std::min(budget, sequence.tokens_unevaluated());
  chunk.end = residents.grow(sequence, end_wanted, plan, chunk.pages_added);
  chunk.is_last = chunk.end == sequence.length();
  const uint32_t tokens = chunk.end - chunk.begin;
  if (tokens > 0) plan.prefill_chunks.push_back(std::move(chunk));
  return tokens;
}

}  // namespace

uint32_t prefill_budget(const contract::Capacity& capacity, uint32_t decode_row_count) {
  if (decode_row_count == 0) return capacity.step_tokens_max;
  return std::min(capacity.chunk_tokens_beside_decode, capacity.step_tokens_max - decode_row_count);
}

void plan_prefill_chunks(PrefillQueue& queue, Residents& residents, uint32_t budget, contract::StepPlan& plan) {
  Rank rank;  // of the last one served; before every other
  bool can_start = true;
  while (budget > 0) {
    Sequence* part_done = residents.first_after(rank, Stage::prefilling);
    Sequence* newcomer = can_start ? queue.front() : nullptr;
    const bool is_newcomer_first = newcomer && (!part_done || newcomer->rank < part_done->rank);
    if (is_newcomer_first && !residents.try_start(*newcomer, plan)) {
      can_start = false;
      continue;
    }
    Sequence* sequence = is_newcomer_first ? newcomer : part_done;
    if (!sequence) break;
    rank = sequence->rank;
    budget -= plan_chunk(residents, *sequence, budget, plan);
  }
}

}  // namespace takt::scheduler
