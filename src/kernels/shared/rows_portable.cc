#include "kernels/isa/vec_portable.h"
#include "kernels/shared/activation.h"
#include "kernels/shared/kv_page.h"
#include "kernels/shared/row_ops.h"

namespace takt::kernels {

template void prepare_activation<Portable>(ActivationKind, const float*, int64_t, std::byte*);
template void rms_norm<Portable>(const float*, const float*, float, int64_t, float*);
template void add<Portable>(const float*, const float*, int64_t, float*);
template void scale<Portable>(const float*, float, int64_t, float*);
template void silu_multiply<Portable>(const float*, const float*, int64_t, float*);
template void gelu_multiply<Portable>(const float*, const float*, int64_t, float*);
template void rope<Portable>(float*, int64_t, int64_t, int64_t, const float*, const float*, RopePairs);
template void kv_store<Portable>(const AttentionShape&, const float*, const float*, int32_t, std::byte*);

}  // namespace takt::kernels
