#include "kernels/prefill/linear.h"

#include "kernels/isa/vec_avx512.h"

namespace takt::kernels {

template void linear_prefill<Avx512>(const PackedMatrix&, const std::byte*, int64_t, int64_t, int64_t, float*, int64_t,
                                     std::byte*);
template size_t linear_prefill_scratch_bytes<Avx512>(base::WeightFormat, int64_t);

}  // namespace takt::kernels
