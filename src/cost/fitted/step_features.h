// What a step does, counted: the numbers that its time depends on, whatever the machine.
#pragma once

#include <cstdint>

#include "contract/step_plan.h"

namespace takt::cost {

struct StepFeatures {
  int64_t tokens = 0;            // rows that meet the weights: prompt tokens and decode rows
  int64_t prefill_tokens = 0;    // of them, prompt tokens
  int64_t sampled_rows = 0;      // rows that meet the output matrix and the sampler
  int64_t chunks = 0;            // prefill chunks
  int64_t prefill_pairs = 0;     // of a prompt token and a position it attends to
  int64_t decode_positions = 0;  // positions that decode rows attend to
  bool operator==(const StepFeatures&) const = default;
};

StepFeatures count_features(const contract::StepPlan& plan);

}  // namespace takt::cost
