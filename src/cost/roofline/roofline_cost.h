// The roofline as a step cost: work that shares its bytes takes the longer of its arithmetic and its memory traffic.
#pragma once

#include "contract/model_shape.h"
#include "cost/roofline/machine_rates.h"
#include "cost/step_cost.h"

namespace takt::cost {

// step = overhead + max(linear operations, weight bytes) + max(attention operations, KV bytes) + sampling
//   linear operations     2 x (weights_linear x tokens + weights_output x rows that yield a token)
//   weight bytes          once a step, whatever its rows: that is what batching is for
//   attention operations  4 x layer_count x embedding_length for each pair of a token and a position it sees (q.k and
//                         p.v; with head_count x head_size = embedding_length, true within a small factor)
//   KV bytes              a decode row reads all its positions; a prefill chunk reads them once for 64 tokens, because
//                         so many share a tile
class RooflineCost final : public StepCost {
 public:
  // Preconditions: every rate is positive, every count of the shape is not negative.
  RooflineCost(const contract::ModelShape& shape, const MachineRates& rates) : shape_(shape), rates_(rates) {}

  base::Micros predict(const contract::StepPlan& plan) const override;

 private:
  contract::ModelShape shape_;
  MachineRates rates_;
};

}  // namespace takt::cost
