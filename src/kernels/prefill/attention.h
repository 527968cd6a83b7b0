// Attention of consecutive query rows: each tile is widened once and used by all rows and all heads of the kv head.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/attention_tile.h"

namespace takt::kernels {

template <class Isa>
void attention_prefill(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                       int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                       int64_t out_stride, std::byte* scratch) {
  std::byte* state = scratch + 2 * widened_bytes(shape.head_dim);
  const QueryRows rows = query_rows(shape, kv_head, q, q_stride, position_begin, row_count, out, out_stride, state);
  auto* span_state = reinterpret_cast<float*>(state + query_state_bytes(shape, row_count));
  attend_rows<Isa>(shape, kv_head, rows, rows_of_span(rows, span_state), pages, scratch);
}

}  // namespace takt::kernels
