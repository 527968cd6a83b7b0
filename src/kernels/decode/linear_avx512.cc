#include "kernels/decode/linear.h"

#include "kernels/isa/vec_avx512.h"

namespace takt::kernels {

template void linear_decode<Avx512>(const PackedMatrix&, const std::byte*, int64_t, int64_t, int64_t, float*, int64_t);

}  // namespace takt::kernels
