#include "kernels/decode/attention.h"

#include "kernels/isa/vec_avx512.h"

namespace takt::kernels {

template void attention_decode<Avx512>(const AttentionShape&, int32_t, const float*, int64_t, const std::byte* const*,
                                       float*, std::byte*);
template void attention_decode_spans<Avx512>(const AttentionShape&, int32_t, const float*, int64_t,
                                             const std::byte* const*, int64_t, int64_t, float*, std::byte*);
template void attention_merge_spans<Avx512>(const AttentionShape&, int32_t, const float*, int64_t, float*);

}  // namespace takt::kernels
