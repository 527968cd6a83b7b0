// Set "ref": attention in double precision. Pages always hold float32: what was computed (format f32, the default), or what the
// asked format gives back, so that it shows what the network is, or what a cache format alone makes of it. A page is [kv_head][keys: kPageTokens × head_dim][values: the same].
#pragma once

#include "kernels/kernel_set.h"

namespace takt::kernels {

const char* kv_refusal_ref(const AttentionShape& shape);
size_t kv_page_bytes_ref(const AttentionShape& shape);
void kv_store_ref(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page);
void attention_decode_ref(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                          const std::byte* const* pages, float* out, std::byte* scratch);
void attention_prefill_ref(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                           int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                           int64_t out_stride, std::byte* scratch);
size_t attention_scratch_bytes_ref(const AttentionShape& shape);

}  // namespace takt::kernels
