#include "kernels/shared/canonical.h"
#include "kernels/shared/kv_page.h"

namespace takt::kernels {

size_t kv_page_bytes(const AttentionShape& shape) {
  return static_cast<size_t>(shape.kv_head_count * kv_head_halves(shape.head_dim)) * sizeof(uint16_t);
}

// Float32 keys and values of one tile (prefill), and every row's maximum and total.
size_t attention_scratch_bytes(const AttentionShape& shape) {
  const int64_t group = shape.head_count / shape.kv_head_count;
  return static_cast<size_t>(kv_head_halves(shape.head_dim) + 2 * kAttentionRowsMax * group) * sizeof(float);
}

}  // namespace takt::kernels
