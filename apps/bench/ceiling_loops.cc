#include "bench/ceiling_loops.h"

#include "kernels/isa/cpu_features.h"

namespace takt::apps {
namespace {

#if defined(__x86_64__)

// The loops are assembly from the first instruction to the last, so that no compiler can keep an accumulator in memory. Twelve
// independent chains: two pipes × a latency of at most six cycles, and with operands and a temporary they fit into sixteen
// registers. Registers start at zero, since subnormals left in them could slow the floats down.
#define TAKT_CHAINS(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define TAKT_ZERO_VEX(N) "vpxor %%xmm" #N ", %%xmm" #N ", %%xmm" #N "\n"
#define TAKT_ZERO_SSE(N) "pxor %%xmm" #N ", %%xmm" #N "\n"
#define TAKT_LOOP(NAME, ZERO, BODY, END)                                                                          \
  void NAME(int64_t iterations) {                                                                                 \
    asm volatile(TAKT_CHAINS(ZERO) ZERO(12) ZERO(13) ZERO(14) ZERO(15) "1:\n" BODY "dec %0\njnz 1b\n" END         \
                 : "+r"(iterations)                                                                               \
                 :                                                                                                \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");                                                  \
  }
constexpr int64_t kChains = 12;

// Signed and unsigned bytes, four products to an int32 lane.
#define TAKT_DOT_AVX512(N) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #N "\n"
TAKT_LOOP(dot_avx512_vnni, TAKT_ZERO_VEX, TAKT_CHAINS(TAKT_DOT_AVX512), "vzeroupper\n")
#define TAKT_DOT_AVX_VNNI(N) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" #N "\n"
TAKT_LOOP(dot_avx_vnni, TAKT_ZERO_VEX, TAKT_CHAINS(TAKT_DOT_AVX_VNNI), "vzeroupper\n")
// Without a dot instruction the least that 32 products take is pairs of them to 16 bits, and an addition. (How often the 16 bits must
// be widened depends on the weights' bits: a kernel's own cost.) Six multiplications, then their six additions: on Zen 3, 352 GOP/s a core against 334 for one after the other and 415 for multiplications alone, since the
// additions take turns in the multiplier's pipes.
#define TAKT_MULTIPLY(N) "vpmaddubsw %%ymm14, %%ymm15, %%ymm" #N "\n"
#define TAKT_ADD(TO, N) "vpaddw %%ymm" #N ", %%ymm" #TO ", %%ymm" #TO "\n"
#define TAKT_DOT_SIX \
  TAKT_MULTIPLY(8)   \
  TAKT_MULTIPLY(9)   \
  TAKT_MULTIPLY(10)  \
  TAKT_MULTIPLY(11)  \
  TAKT_MULTIPLY(12)  \
  TAKT_MULTIPLY(13) TAKT_ADD(0, 8) TAKT_ADD(1, 9) TAKT_ADD(2, 10) TAKT_ADD(3, 11) TAKT_ADD(4, 12) TAKT_ADD(5, 13)
TAKT_LOOP(dot_avx2, TAKT_ZERO_VEX, TAKT_DOT_SIX TAKT_DOT_SIX, "vzeroupper\n")
#define TAKT_BF16_AVX512(N) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" #N "\n"
TAKT_LOOP(bf16_avx512, TAKT_ZERO_VEX, TAKT_CHAINS(TAKT_BF16_AVX512), "vzeroupper\n")
#define TAKT_FMA_AVX512(N) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #N "\n"
TAKT_LOOP(fma_avx512, TAKT_ZERO_VEX, TAKT_CHAINS(TAKT_FMA_AVX512), "vzeroupper\n")
#define TAKT_FMA_AVX2(N) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #N "\n"
TAKT_LOOP(fma_avx2, TAKT_ZERO_VEX, TAKT_CHAINS(TAKT_FMA_AVX2), "vzeroupper\n")
#define TAKT_FMA_SSE2(N) "movaps %%xmm14, %%xmm13\n mulps %%xmm15, %%xmm13\n addps %%xmm13, %%xmm" #N "\n"
TAKT_LOOP(multiply_add_sse2, TAKT_ZERO_SSE, TAKT_CHAINS(TAKT_FMA_SSE2), "")

bool is_always_supported() { return true; }

#else

// Elsewhere the compiler's own vectors of four, in as many named variables as there are chains: an optimiser has no reason to
// keep them in memory, but nobody has looked at its code.
using Vector = float __attribute__((vector_size(16)));
constexpr int64_t kChains = 8;

void multiply_add_vector(int64_t iterations) {
  Vector x = {1e-3f, 1e-3f, 1e-3f, 1e-3f}, a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  for (; iterations > 0; --iterations) {
    a = a * x + x, b = b * x + x, c = c * x + x, d = d * x + x;
    e = e * x + x, f = f * x + x, g = g * x + x, h = h * x + x;
  }
  volatile float sum = (a + b + c + d + e + f + g + h)[0];
  (void)sum;
}

bool is_always_supported() { return true; }

#endif

}  // namespace

const std::vector<CeilingLoop>& ceiling_loops() {
  static const std::vector<CeilingLoop> loops = {
#if defined(__x86_64__)
    {"int8_avx512", "int8 dot, AVX-512 VNNI", kernels::has_avx512_vnni, kChains * 64 * 2, dot_avx512_vnni},
    {"int8_avxvnni", "int8 dot, AVX-VNNI", kernels::has_avx_vnni, kChains * 32 * 2, dot_avx_vnni},
    {"int8_avx2", "int8 dot, AVX2", kernels::has_avx2, kChains * 32 * 2, dot_avx2},
    {"bf16_avx512", "bf16 dot, AVX-512", kernels::has_avx512_bf16, kChains * 32 * 2, bf16_avx512},
    {"f32_avx512", "f32 FMA, AVX-512", kernels::has_avx512_vnni, kChains * 16 * 2, fma_avx512},
    {"f32_avx2", "f32 FMA, AVX2", kernels::has_avx2, kChains * 8 * 2, fma_avx2},
    {"f32_sse2", "f32 multiply and add, SSE2", is_always_supported, kChains * 4 * 2, multiply_add_sse2},
#else
    {"f32_vector", "f32 multiply and add", is_always_supported, kChains * 4 * 2, multiply_add_vector},
#endif
  };
  return loops;
}

void read_lines(const std::byte* p, int64_t lines) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < lines; ++i, p += 64)
    asm volatile(
        "prefetcht0 4096(%0)\n movaps (%0), %%xmm0\n movaps 16(%0), %%xmm1\n movaps 32(%0), %%xmm2\n movaps 48(%0), "
        "%%xmm3\n" ::"r"(p)
        : "xmm0", "xmm1", "xmm2", "xmm3");
#else
  for (int64_t i = 0; i < lines * 64; i += 8) (void)*reinterpret_cast<const volatile uint64_t*>(p + i);
#endif
}

}  // namespace takt::apps
