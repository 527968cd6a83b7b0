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

// Bits of cpuid leaf 7, sub-leaf 1, register EAX.
constexpr unsigned kAvxVnniBit = 1u << 4, kAvx512Bf16Bit = 1u << 5;

bool has_leaf_7_1(unsigned bit) {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & bit) != 0;
}

}  // namespace

bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && has_avx2();
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

bool has_avx_vnni() { return has_avx2() && has_leaf_7_1(kAvxVnniBit); }

bool has_avx512_bf16() { return has_avx512_vnni() && has_leaf_7_1(kAvx512Bf16Bit); }

#else

bool has_avx512_vnni() { return false; }
bool has_avx2() { return false; }
bool has_avx_vnni() { return false; }
bool has_avx512_bf16() { return false; }

#endif

}  // namespace takt::kernels
