// Attention of one query row: the query heads of one kv head over all tiles, read straight from the f16 pages.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/attention_tile.h"

namespace takt::kernels {

template <class Isa>
void attention_decode(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                      const std::byte* const* pages, float* out, std::byte* scratch) {
  const int64_t group = shape.head_count / shape.kv_head_count, dim = shape.head_dim;
  auto* state = reinterpret_cast<float*>(scratch);
  const QueryRows rows{
      q + kv_head * group * dim, 0, out + kv_head * group * dim, 0, dim, group, position, group, state, state + group};
  begin_rows<Isa>(rows);
  for (int64_t tile = first_visible_tile(shape, position); tile <= position / kPageTokens; ++tile)
    attend_tile<Isa>(shape, rows, tile, tile_of_page(shape, kv_head, pages[tile]));
  finish_rows<Isa>(rows);
}

}  // namespace takt::kernels
