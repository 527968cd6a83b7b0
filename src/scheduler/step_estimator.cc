#include "scheduler/step_estimator.h"

#include <algorithm>
#include <bit>

namespace takt::scheduler {
namespace {

// Twelve days: longer steps are a broken clock. Keeps products in range.
constexpr int64_t kStepUsMax = int64_t{1} << 40;

}  // namespace

void StepEstimator::learn(uint32_t prefill_tokens, uint32_t decode_rows, base::Micros duration) {
  const int bucket = std::bit_width(prefill_tokens + decode_rows);
  int64_t& known = (prefill_tokens == 0 ? decode_only_ : with_prefill_)[bucket];
  // A maximum that fades by 1/32 a step: one stall of the machine is forgotten after some fifty steps, one slow kind of
  // step that comes every few steps is not.
  const int64_t us = std::clamp<int64_t>(duration.count(), 1, kStepUsMax);
  known = std::max(known - known / 32, us);
}

base::Micros StepEstimator::predict_max(uint32_t prefill_tokens, uint32_t decode_rows) const {
  const int bucket = std::bit_width(prefill_tokens + decode_rows);
  const int64_t same_kind = look_up(prefill_tokens == 0 ? decode_only_ : with_prefill_, bucket);
  if (same_kind > 0) return base::Micros(same_kind);
  return base::Micros(look_up(prefill_tokens == 0 ? with_prefill_ : decode_only_, bucket));
}

int64_t StepEstimator::look_up(const Table& table, int bucket) {
  for (int b = bucket; b >= 0; --b) {
    // Twice the tokens take at most twice the time: what a step costs whatever its size is shared.
    if (table[b] > 0) return table[b] << std::min(bucket - b, 16);
  }
  for (int b = bucket + 1; b < kBucketCount; ++b) {
    if (table[b] > 0) return table[b];
  }
  return 0;
}

}  // namespace takt::scheduler
