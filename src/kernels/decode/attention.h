// Attention of one query row: the query heads of one kv head over all tiles.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/attention_tile.h"

namespace takt::kernels {

template <class Isa>
void attention_decode(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                      const std::byte* const* pages, float* out, std::byte* scratch) {
  const QueryRows rows =
      query_rows(shape, kv_head, q, 0, position, 1, out, 0, scratch + 2 * widened_bytes(shape.head_dim));
  attend_rows<Isa>(shape, kv_head, rows, pages, scratch);
}

}  // namespace takt::kernels
