#include "kernels/prefill/linear.h"

#include "kernels/isa/vec_portable.h"

namespace takt::kernels {

template void linear_prefill<Portable>(const PackedMatrix&, const std::byte*, int64_t, int64_t, int64_t, float*,
                                       int64_t, std::byte*);
template size_t linear_prefill_scratch_bytes<Portable>(base::WeightFormat, int64_t);

}  // namespace takt::kernels
