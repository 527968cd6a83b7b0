#include "kernels/isa/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace takt::kernels {

// The compiler's runtime checks the saved register state (XCR0) as well as cpuid before it reports an AVX feature.
#if defined(__x86_64__)

namespace {

// Clang 14 has no name for it. It uses the AVX registers, which the AVX2 check vouches for.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && has_avx2();
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

#else

namespace {

// Clang 14 has no name for it. It uses the AVX registers, which the AVX2 check vouches for.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool has_avx512_vnni() { return false; }
bool has_avx2() { return false; }

#endif

}  // namespace takt::kernels
