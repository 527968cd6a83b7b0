#include "kernels/prefill/attention.h"

#include "kernels/isa/vec_avx512.h"

namespace takt::kernels {

template void attention_prefill<Avx512>(const AttentionShape&, int32_t, const float*, int64_t, int64_t, int64_t,
                                        const std::byte* const*, float*, int64_t, std::byte*);

}  // namespace takt::kernels
