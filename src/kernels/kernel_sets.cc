#include "kernels/kernel_sets.h"

#include "kernels/isa/cpu_features.h"
#include "kernels/shared/canonical.h"
#include "kernels/shared/pack.h"

namespace takt::kernels {
namespace {

ActivationKind activation_kind(base::WeightFormat format) {
  const bool is_float =
      format == base::WeightFormat::f32 || format == base::WeightFormat::f16 || format == base::WeightFormat::bf16;
  return is_float ? ActivationKind::f32 : ActivationKind::q8;
}

// The canonical kernels as instantiated for one instruction set.
template <class Isa>
constexpr KernelSet canonical_set(std::string_view name, std::string_view description, bool (*is_supported)(),
                                  int32_t decode_rows_max) {
  return {
      .name = name,
      .description = description,
      .is_supported = is_supported,
      .activation_kind = activation_kind,
      .packed_bytes = packed_bytes,
      .pack = pack,
      .activation_row_bytes = activation_row_bytes,
      .prepare_activation = prepare_activation<Isa>,
      .decode_rows_max = decode_rows_max,
      .linear_decode = linear_decode<Isa>,
      .linear_prefill = linear_prefill<Isa>,
      .linear_prefill_scratch_bytes = linear_prefill_scratch_bytes<Isa>,
      .rms_norm = rms_norm<Isa>,
      .add = add<Isa>,
      .scale = scale<Isa>,
      .silu_multiply = silu_multiply<Isa>,
      .gelu_multiply = gelu_multiply<Isa>,
      .rope = rope<Isa>,
      .kv_default = {base::KvFormat::f16, base::KvFormat::f16},
      .kv_refusal = kv_refusal,
      .kv_page_bytes = kv_page_bytes,
      .kv_store = kv_store<Isa>,
      .attention_decode = attention_decode<Isa>,
      .attention_decode_spans = attention_decode_spans<Isa>,
      .attention_merge_spans = attention_merge_spans<Isa>,
      .attention_prefill = attention_prefill<Isa>,
      .attention_rows_max = kAttentionRowsMax,
      .attention_scratch_bytes = attention_scratch_bytes,
  };
}

#if defined(__x86_64__)
// AVX2 takes four rows to a register tile, and the decode kernels unpack the weights again for each tile: beyond two tiles it
// is cheaper to unpack a panel once, as prefill does. Zen 3, two threads, qwen2.5-coder-0.5b beside other load, 12, 16, 24 and 32
// rows: 1.25, 1.30, 1.31 and 1.22 × the tokens a second of the decode kernels; at 5, 6 and 8 rows the two are level.
constexpr int32_t kDecodeRowsMaxAvx2 = 8;

constexpr KernelSet kAvx512Set = canonical_set<Avx512>(
    "avx512", "AVX-512 F, BW, VL, DQ and VNNI (Zen 4, Ice Lake and later)", has_avx512_vnni, kDecodeRowsMax);
constexpr KernelSet kAvx2Set =
    canonical_set<Avx2>("avx2", "AVX2, FMA and F16C (Zen 1, Haswell and later)", has_avx2, kDecodeRowsMaxAvx2);
#endif
constexpr KernelSet kPortableSet = canonical_set<Portable>(
    "portable", "any processor", [] { return true; }, kDecodeRowsMax);

}  // namespace

// The dispatch list, in order of preference.
const std::vector<const KernelSet*>& kernel_sets() {
  static const std::vector<const KernelSet*> sets = {
#if defined(__x86_64__)
    &kAvx512Set,
    &kAvx2Set,
#endif
    &kPortableSet,
    &kRefSet,
  };
  return sets;
}

const KernelSet* select_kernel_set(std::string_view name) {
  for (const KernelSet* set : kernel_sets())
    if ((name.empty() || name == set->name) && set->is_supported()) return set;
  return nullptr;
}

}  // namespace takt::kernels
