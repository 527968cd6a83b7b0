#include "kernels/isa/vec_avx2.h"
#include "kernels/shared/activation.h"
#include "kernels/shared/kv_page.h"
#include "kernels/shared/row_ops.h"

namespace takt::kernels {

template void prepare_activation<Avx2>(ActivationKind, const float*, int64_t, std::byte*);
template void rms_norm<Avx2>(const float*, const float*, float, int64_t, float*);
template void add<Avx2>(const float*, const float*, int64_t, float*);
template void scale<Avx2>(const float*, float, int64_t, float*);
template void silu_multiply<Avx2>(const float*, const float*, int64_t, float*);
template void gelu_multiply<Avx2>(const float*, const float*, int64_t, float*);
template void rope<Avx2>(float*, int64_t, int64_t, int64_t, const float*, const float*, RopePairs);
template void kv_store<Avx2>(const AttentionShape&, const float*, const float*, int32_t, std::byte*);

}  // namespace takt::kernels
