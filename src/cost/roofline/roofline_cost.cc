#include "cost/roofline/roofline_cost.h"

#include <algorithm>

namespace takt::cost {
namespace {

constexpr int64_t kPrefillTileTokens = 64;

// What a step does, counted.
struct Work {
  int64_t tokens = 0;
  int64_t rows_sampled = 0;
  int64_t pairs = 0;           // of a token and a position it attends to
  int64_t positions_read = 0;  // of the KV cache
};

Work count(const contract::StepPlan& plan) {
  Work work;
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    const int64_t begin = chunk.begin, end = chunk.end, tokens = end - begin;
    work.tokens += tokens;
    work.rows_sampled += chunk.is_last ? 1 : 0;
    work.pairs += tokens * begin + tokens * (tokens + 1) / 2;
    work.positions_read += end * ((tokens + kPrefillTileTokens - 1) / kPrefillTileTokens);
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    const int64_t tokens = 1 + static_cast<int64_t>(row.draft_tokens.size());
    work.tokens += tokens;
    work.rows_sampled += tokens;
    work.pairs += tokens * (row.position + tokens);
    work.positions_read += row.position + tokens;
  }
  return work;
}

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace

base::Micros RooflineCost::predict(const contract::StepPlan& plan) const {
  const Work work = count(plan);
  const int64_t linear_ops = 2 * (shape_.weights_linear * work.tokens + shape_.weights_output * work.rows_sampled);
  const int64_t pair_ops = 4 * int64_t{shape_.layer_count} * shape_.embedding_length;
  const int64_t linear_us = std::max(divide_up(linear_ops, rates_.linear_ops_per_us),
                                     divide_up(shape_.weight_bytes.count(), rates_.memory_bytes_per_us));
  const int64_t attention_us =
      std::max(divide_up(work.pairs * pair_ops, rates_.attention_ops_per_us),
               divide_up(work.positions_read * shape_.kv_bytes_per_token.count(), rates_.memory_bytes_per_us));
  const int64_t us = rates_.step_overhead_us + linear_us + attention_us + rates_.sample_us * work.rows_sampled;
  return base::Micros(std::max<int64_t>(us, 1));
}

}  // namespace takt::cost
