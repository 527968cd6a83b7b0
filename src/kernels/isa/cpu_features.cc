#include "kernels/isa/cpu_features.h"

namespace takt::kernels {

// The compiler's runtime checks the saved register state (XCR0) as well as cpuid before it reports an AVX feature.
#if defined(__x86_64__)

bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni") && has_avx2();
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

#else

bool has_avx512_vnni() { return false; }
bool has_avx2() { return false; }

#endif

}  // namespace takt::kernels
