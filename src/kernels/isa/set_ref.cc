#include "kernels/kernel_sets.h"
#include "kernels/shared/attention_ref.h"
#include "kernels/shared/linear_ref.h"
#include "kernels/shared/row_ops_ref.h"

namespace takt::kernels {
namespace {

bool is_supported() { return true; }
ActivationKind activation_kind(base::WeightFormat) { return ActivationKind::f32; }
size_t packed_bytes(base::WeightFormat, int64_t, int64_t) { return 0; }
void pack(base::WeightFormat, const std::byte*, int64_t, int64_t, int64_t, int64_t, std::byte*) {}

void linear_prefill(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                    int64_t panel_end, float* out, int64_t out_stride, std::byte*) {
  linear_ref(weights, activations, m, panel_begin, panel_end, out, out_stride);
}
size_t linear_prefill_scratch_bytes(base::WeightFormat, int64_t) { return 64; }

}  // namespace

const KernelSet kRefSet = {
    .name = "ref",
    .description = "float32 activations, exactly decoded weights, double-precision softmax and norms",
    .is_supported = is_supported,
    .activation_kind = activation_kind,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .activation_row_bytes = activation_row_bytes_ref,
    .prepare_activation = prepare_activation_ref,
    .decode_rows_max = 8,
    .linear_decode = linear_ref,
    .linear_prefill = linear_prefill,
    .linear_prefill_scratch_bytes = linear_prefill_scratch_bytes,
    .rms_norm = rms_norm_ref,
    .add = add_ref,
    .scale = scale_ref,
    .silu_multiply = silu_multiply_ref,
    .gelu_multiply = gelu_multiply_ref,
    .rope = rope_ref,
    .kv_default = {base::KvFormat::f32, base::KvFormat::f32},
    .kv_refusal = kv_refusal_ref,
    .kv_page_bytes = kv_page_bytes_ref,
    .kv_store = kv_store_ref,
    .attention_decode = attention_decode_ref,
    .attention_decode_spans = nullptr,
    .attention_merge_spans = nullptr,
    .attention_prefill = attention_prefill_ref,
    .attention_rows_max = 64,
    .attention_scratch_bytes = attention_scratch_bytes_ref,
};

}  // namespace takt::kernels
