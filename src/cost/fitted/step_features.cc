#include "cost/fitted/step_features.h"

namespace takt::cost {

StepFeatures count_features(const contract::StepPlan& plan) {
  StepFeatures features;
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    const int64_t begin = chunk.begin, tokens = int64_t{chunk.end} - begin;
    features.prefill_tokens += tokens;
    features.prefill_pairs += tokens * begin + tokens * (tokens + 1) / 2;
    features.sampled_rows += chunk.is_last ? 1 : 0;
    features.chunks += 1;
  }
  features.tokens = features.prefill_tokens;
  for (const contract::DecodeRow& row : plan.decode_rows) {
    const int64_t tokens = 1 + static_cast<int64_t>(row.draft_tokens.size());
    features.tokens += tokens;
    features.sampled_rows += tokens;
    features.decode_positions += tokens * (int64_t{row.position} + tokens);
  }
  return features;
}

}  // namespace takt::cost
