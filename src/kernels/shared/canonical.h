// The canonical kernels, one template per operation over the instruction set, as declarations: the tables of kernel_sets.cc are
// filled from them. Definitions: shared/, decode/ and prefill/ headers of the same name; instantiated in <name>_<isa>.cc.
// What each does: KernelSet.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/kernel_set.h"

namespace takt::kernels {

// shared/activation.h
size_t activation_row_bytes(ActivationKind kind, int64_t k);
template <class Isa>
void prepare_activation(ActivationKind kind, const float* x, int64_t k, std::byte* out);

// decode/linear.h
inline constexpr int32_t kDecodeRowsMax = 32;
template <class Isa>
void linear_decode(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                   int64_t panel_end, float* out, int64_t out_stride);

// prefill/linear.h
template <class Isa>
void linear_prefill(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                    int64_t panel_end, float* out, int64_t out_stride, std::byte* scratch);
template <class Isa>
size_t linear_prefill_scratch_bytes(base::WeightFormat format, int64_t k);

// shared/row_ops.h
template <class Isa>
void rms_norm(const float* x, const float* weight, float eps, int64_t n, float* out);
template <class Isa>
void add(const float* x, const float* y, int64_t n, float* out);
template <class Isa>
void scale(const float* x, float factor, int64_t n, float* out);
template <class Isa>
void silu_multiply(const float* gate, const float* up, int64_t n, float* out);
template <class Isa>
void gelu_multiply(const float* gate, const float* up, int64_t n, float* out);
template <class Isa>
void rope(float* heads, int64_t head_count, int64_t head_dim, int64_t rope_dim, const float* cos, const float* sin,
          RopePairs pairs);

// shared/kv_page.h
size_t kv_page_bytes(const AttentionShape& shape);
const char* kv_refusal(const AttentionShape& shape);
template <class Isa>
void kv_store(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page);

// decode/attention.h, prefill/attention.h
inline constexpr int32_t kAttentionRowsMax = 64;
size_t attention_scratch_bytes(const AttentionShape& shape);
template <class Isa>
void attention_decode(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                      const std::byte* const* pages, float* out, std::byte* scratch);
template <class Isa>
void attention_decode_spans(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                            const std::byte* const* pages, int64_t span_begin, int64_t span_end, float* states,
                            std::byte* scratch);
template <class Isa>
void attention_merge_spans(const AttentionShape& shape, int32_t kv_head, const float* states, int64_t span_count,
                           float* out);
template <class Isa>
void attention_prefill(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                       int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                       int64_t out_stride, std::byte* scratch);

}  // namespace takt::kernels
