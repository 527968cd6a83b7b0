// How long steps take, learned from those that were absorbed. Integers only, so that it replays.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"

namespace takt::scheduler {

class StepEstimator {
 public:
  void learn(uint32_t prefill_tokens, uint32_t decode_rows, base::Micros duration);
  // A time that such a step is not expected to exceed; zero while no step has been seen.
  base::Micros predict_max(uint32_t prefill_tokens, uint32_t decode_rows) const;

 private:
  // Steps of [2^(b-1), 2^b) tokens share bucket b. Decode-only steps are apart: their cost per token is another one.
  static constexpr int kBucketCount = 33;
  using Table = std::array<int64_t, kBucketCount>;  // slowly forgotten maximum, microseconds; 0: not seen
  static int64_t look_up(const Table& table, int bucket);

  Table decode_only_{};
  Table with_prefill_{};
};

}  // namespace takt::scheduler
