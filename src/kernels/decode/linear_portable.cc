#include "kernels/decode/linear.h"

#include "kernels/isa/vec_portable.h"

namespace takt::kernels {

template void linear_decode<Portable>(const PackedMatrix&, const std::byte*, int64_t, int64_t, int64_t, float*,
                                      int64_t);

}  // namespace takt::kernels
