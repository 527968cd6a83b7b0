// Attention of one query row: the query heads of one kv head over all tiles.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/attention_tile.h"

namespace takt::kernels {

template <class Isa>
void attention_decode(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                      const std::byte* const* pages, float* out, std::byte* scratch) {
  std::byte* state = scratch + 2 * widened_bytes(shape.head_dim);
  const QueryRows rows = query_rows(shape, kv_head, q, 0, position, 1, out, 0, state);
  auto* span_state = reinterpret_cast<float*>(state + query_state_bytes(shape, 1));
  attend_rows<Isa>(shape, kv_head, rows, rows_of_span(rows, span_state), pages, scratch);
}

template <class Isa>
void attention_decode_spans(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                            const std::byte* const* pages, int64_t span_begin, int64_t span_end, float* states,
                            std::byte* scratch) {
  const QueryRows rows =
      query_rows(shape, kv_head, q, 0, position, 1, states, 0, scratch + 2 * widened_bytes(shape.head_dim));
  encode_queries<Isa>(shape, rows);
  for (int64_t span = span_begin; span < span_end; ++span, states += rows_state_floats(shape, 1)) {
    const int64_t first = first_visible_tile(shape, position), tile_end = position / kPageTokens + 1;
    const int64_t begin = span * kSpanTiles, end = begin + kSpanTiles;
    const QueryRows state = rows_of_span(rows, states);
    begin_rows<Isa>(state);
    attend_tiles<Isa>(shape, kv_head, state, pages, begin < first ? first : begin, end < tile_end ? end : tile_end,
                      scratch);
  }
}

template <class Isa>
void attention_merge_spans(const AttentionShape& shape, int32_t kv_head, const float* states, int64_t span_count,
                           float* out) {
  const int64_t group = shape.head_count / shape.kv_head_count, dim = shape.head_dim;
  for (int64_t row = 0; row < group; ++row) {
    float* sums = out + (kv_head * group + row) * dim;
    float maximum = 0, total = 0;
    for (int64_t span = 0; span < span_count; ++span) {
      const float* state = states + span * rows_state_floats(shape, 1);
      const float span_maximum = state[group * dim + row], span_total = state[group * (dim + 1) + row];
      if (span > 0) {
        merge_span<Isa>(state + row * dim, span_maximum, span_total, dim, sums, maximum, total);
        continue;
      }
      maximum = span_maximum;
      total = span_total;
      __builtin_memcpy(sums, state + row * dim, static_cast<size_t>(dim) * sizeof(float));
    }
    finish_row<Isa>(shape, total, sums);
  }
}

}  // namespace takt::kernels
