// Attention of consecutive query rows: each tile is converted to float32 once and used by all rows and all heads of the kv head.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/attention_tile.h"

namespace takt::kernels {

template <class Isa>
TAKT_INLINE void convert_halves(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += Isa::kLanes) Isa::store_f(to + i, Isa::load_f16(from + i));
}

template <class Isa>
void attention_prefill(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                       int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                       int64_t out_stride, std::byte* scratch) {
  const int64_t group = shape.head_count / shape.kv_head_count, dim = shape.head_dim;
  const int64_t tile_values = kPageTokens * dim;
  auto* keys = reinterpret_cast<float*>(scratch);
  float *values = keys + tile_values, *state = values + tile_values;
  const QueryRows rows{
      q + kv_head * group * dim, q_stride, out + kv_head * group * dim, out_stride, dim, group, position_begin,
      row_count * group,         state,    state + row_count * group};
  begin_rows<Isa>(rows);
  const int64_t tile_last = (position_begin + row_count - 1) / kPageTokens;
  for (int64_t tile = first_visible_tile(shape, position_begin); tile <= tile_last; ++tile) {
    const HalfTile stored = tile_of_page(shape, kv_head, pages[tile]);
    convert_halves<Isa>(stored.keys, tile_values, keys);
    convert_halves<Isa>(stored.values, tile_values, values);
    attend_tile<Isa>(shape, rows, tile, FloatTile{keys, values});
  }
  finish_rows<Isa>(rows);
}

}  // namespace takt::kernels
