#include "cost/roofline/roofline_cost.h"

#include <gtest/gtest.h>

namespace takt::cost {
namespace {

contract::ModelShape shape() {
  contract::ModelShape shape;
  shape.layer_count = 2;
  shape.embedding_length = 100;
  shape.kv_bytes_per_token = base::Bytes(1000);
  shape.weight_bytes = base::Bytes(1'000'000);
  shape.weights_linear = 1'000'000;
  shape.weights_output = 500'000;
  return shape;
}

// Numbers that make the sums easy: 1 MB of weights takes 1,000 us, a prompt token 20 us, a sampled row 10 us more.
MachineRates rates() {
  MachineRates rates;
  rates.memory_bytes_per_us = 1'000;
  rates.linear_ops_per_us = 100'000;
  rates.attention_ops_per_us = 800;  // one pair (4 * 2 * 100 operations) a microsecond
  rates.step_overhead_us = 7;
  rates.sample_us = 3;
  return rates;
}

int64_t cost_of(const contract::StepPlan& plan) { return RooflineCost(shape(), rates()).predict(plan).count(); }

contract::StepPlan decode_plan(uint32_t rows, uint32_t position) {
  contract::StepPlan plan;
  for (uint32_t i = 0; i < rows; ++i) plan.decode_rows.push_back({contract::RequestId{i}, position, {}, {}});
  return plan;
}

TEST(RooflineCost, ADecodeStepIsBoundByTheWeightBytes) {
  // 7 + max(2 * 1.5e6 / 1e5, 1000) + max(10 pairs, 10 positions * 1000 bytes / 1000) + 3
  EXPECT_EQ(cost_of(decode_plan(1, 9)), 7 + 1000 + 10 + 3);
  // Rows share the weights.
  EXPECT_EQ(cost_of(decode_plan(8, 9)), 7 + 1000 + 80 + 24);
}

TEST(RooflineCost, APrefillChunkIsBoundByArithmetic) {
  contract::StepPlan plan;
  plan.prefill_chunks.push_back({contract::RequestId{1}, 0, 128, false, {}});
  const int64_t pairs = 128 * 129 / 2;
  EXPECT_EQ(cost_of(plan), 7 + 128 * 20 + pairs);
  plan.prefill_chunks[0].is_last = true;
  EXPECT_EQ(cost_of(plan), 7 + 128 * 20 + 10 + pairs + 3);
}

TEST(RooflineCost, TwoChunksDoTheArithmeticOfOne) {
  const auto chunk_cost = [](uint32_t begin, uint32_t end) {
    contract::StepPlan plan;
    plan.prefill_chunks.push_back({contract::RequestId{1}, begin, end, false, {}});
    return cost_of(plan);
  };
  EXPECT_EQ(chunk_cost(0, 128) + chunk_cost(128, 256), chunk_cost(0, 256) + rates().step_overhead_us);
}

}  // namespace
}  // namespace takt::cost
