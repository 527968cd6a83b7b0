#include "kernels/shared/attention_tile.h"
#include "kernels/shared/canonical.h"
#include "kernels/shared/kv_page.h"

namespace takt::kernels {

size_t kv_page_bytes(const AttentionShape& shape) {
  return static_cast<size_t>(shape.kv_head_count * kv_head_layout(shape).bytes);
}

size_t attention_scratch_bytes(const AttentionShape& shape) {
  return static_cast<size_t>(2 * widened_bytes(shape.head_dim) + attention_state_bytes(shape, kAttentionRowsMax));
}

const char* kv_refusal(const AttentionShape& shape) {
  if (shape.key_format == base::KvFormat::f32 || shape.value_format == base::KvFormat::f32)
    return "f32 is a format of the kernel set ref only";
  // Four bits turn some 5 in 100 of a key's length into noise, which the exponential magnifies: docs/decisions/0003.
  if (shape.key_format == base::KvFormat::q4) return "keys are kept in f16, bf16 or q8_0; q4 is for values only";
  // The halves of a q4 vector share bytes, and a vector register holds up to sixteen values of one half.
  if (shape.value_format == base::KvFormat::q4 && shape.head_dim % 32 != 0)
    return "q4 needs a head size that is a multiple of 32";
  return nullptr;
}

}  // namespace takt::kernels
