// Policy for AVX-512 with F, BW, VL, DQ and VNNI: sixteen lanes in one register. The operations are described in
// isa/vec_portable.h, which defines their results.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/isa/targets.h"

namespace takt::kernels {

struct Avx512 {
  static constexpr int kLanes = 16;
  // Register tiles. Thirty-two registers: a tile of dots and a tile of sums, or one tile of sums, and a few operands.
#ifdef TAKT_SMALL_TILES  // sanitizers multiply the code of a tile, and the results do not depend on its size
  static constexpr int kDecodeTileRows = 2;
  static constexpr int kPrefillTileRows = 2;
  static constexpr int kPrefillTileColumns = 2;
  static constexpr int kFloatTileVectors = 4;
  static constexpr int kScoreTileRows = 2;
  static constexpr int kCodeTileRows = 2;
  static constexpr int kCodeTileVectors = 2;
  static constexpr int kValueTileRows = 2;
  static constexpr int kValueTileVectors = 2;
#else
  static constexpr int kDecodeTileRows = 8;
  static constexpr int kPrefillTileRows = 6;
  static constexpr int kPrefillTileColumns = 2;
  static constexpr int kFloatTileVectors = 24;
  static constexpr int kScoreTileRows = 8;
  static constexpr int kCodeTileRows = 8;
  static constexpr int kCodeTileVectors = 2;
  static constexpr int kValueTileRows = 4;
  static constexpr int kValueTileVectors = 4;
#endif
  using F = __m512;
  using I = __m512i;
  using U = __m512i;

  static TAKT_INLINE __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

  static TAKT_INLINE F set_f(float x) { return _mm512_set1_ps(x); }
  static TAKT_INLINE F load_f(const float* p) { return _mm512_loadu_ps(p); }
  static TAKT_INLINE F load_f(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static TAKT_INLINE void store_f(float* p, F x) { _mm512_storeu_ps(p, x); }
  static TAKT_INLINE void store_f(float* p, F x, int64_t n) { _mm512_mask_storeu_ps(p, first(n), x); }
  static TAKT_INLINE F load_f16(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static TAKT_INLINE F load_bf16(const void* p) {
    const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static TAKT_INLINE void store_f16(void* p, F x) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static TAKT_INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
  static TAKT_INLINE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static TAKT_INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static TAKT_INLINE F div(F a, F b) { return _mm512_div_ps(a, b); }
  static TAKT_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static TAKT_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
  static TAKT_INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }
  static TAKT_INLINE F keep_lanes(F x, int64_t begin, int64_t end, float other) {
    const auto keep = static_cast<__mmask16>(first(end) & ~first(begin));
    return _mm512_mask_blend_ps(keep, _mm512_set1_ps(other), x);
  }
  static TAKT_INLINE void deinterleave(F a, F b, F& even, F& odd) {
    const I evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(a, evens, b);
    odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(evens, _mm512_set1_epi32(1)), b);
  }
  static TAKT_INLINE void interleave(F even, F odd, F& a, F& b) {
    const I low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    a = _mm512_permutex2var_ps(even, low, odd);
    b = _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd);
  }
  static TAKT_INLINE float sum16(const F* parts) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(parts[0]), _mm512_extractf32x8_ps(parts[0], 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static TAKT_INLINE float max16(const F* parts) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(parts[0]), _mm512_extractf32x8_ps(parts[0], 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static TAKT_INLINE float scalar_sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
  static TAKT_INLINE float scalar_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

  static TAKT_INLINE I set_i(int32_t x) { return _mm512_set1_epi32(x); }
  static TAKT_INLINE I load_u8(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE I load_i8(const uint8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE I widen_i8(const uint8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static TAKT_INLINE void widen_nibbles(const uint8_t* p, const int8_t* table, I& low, I& high) {
    const __m256i levels = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), mask = _mm256_set1_epi8(15);
    low = _mm512_cvtepi8_epi16(_mm256_shuffle_epi8(levels, _mm256_and_si256(bytes, mask)));
    high = _mm512_cvtepi8_epi16(_mm256_shuffle_epi8(levels, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask)));
  }
  static TAKT_INLINE I load_i(const void* p) { return _mm512_loadu_si512(p); }
  static TAKT_INLINE void store_i(void* p, I x) { _mm512_storeu_si512(p, x); }
  static TAKT_INLINE I dot_pairs(I sum, I a, I b) { return _mm512_dpwssd_epi32(sum, a, b); }
  static TAKT_INLINE void store_i8(int8_t* p, I x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }
  static TAKT_INLINE I add_i(I a, I b) { return _mm512_add_epi32(a, b); }
  static TAKT_INLINE I sub_i(I a, I b) { return _mm512_sub_epi32(a, b); }
  static TAKT_INLINE I sub_i16(I a, I b) { return _mm512_sub_epi16(a, b); }
  static TAKT_INLINE I and_i(I a, I b) { return _mm512_and_si512(a, b); }
  static TAKT_INLINE I max_i(I a, I b) { return _mm512_max_epi32(a, b); }
  template <int kBits>
  static TAKT_INLINE I shl_i(I a) {
    return _mm512_slli_epi32(a, kBits);
  }
  template <int kBits>
  static TAKT_INLINE I sra_i(I a) {
    return _mm512_srai_epi32(a, kBits);
  }
  static TAKT_INLINE int32_t reduce_max_i(I a) { return _mm512_reduce_max_epi32(a); }
  static TAKT_INLINE PairSums reduce_pairs_i(I a) {
    const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i pairs = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return {_mm_cvtsi128_si32(pairs), _mm_extract_epi32(pairs, 2)};
  }
  static TAKT_INLINE F to_f(I a) { return _mm512_cvtepi32_ps(a); }
  static TAKT_INLINE I round_i(F a) { return _mm512_cvtps_epi32(a); }
  static TAKT_INLINE F bits_f(I a) { return _mm512_castsi512_ps(a); }
  static TAKT_INLINE I bits_i(F a) { return _mm512_castps_si512(a); }

  static TAKT_INLINE U load_u(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static TAKT_INLINE void store_u(uint8_t* p, U x) { _mm512_storeu_si512(p, x); }
  static TAKT_INLINE U low_nibbles(U x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  static TAKT_INLINE U high_nibbles(U x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15)); }
  template <int kBit>
  static TAKT_INLINE U add_fifth(U x, U planes) {
    const U at_4 = kBit < 4 ? _mm512_slli_epi16(planes, kBit < 4 ? 4 - kBit : 0)
                            : _mm512_srli_epi16(planes, kBit < 4 ? 0 : kBit - 4);
    // x | (at_4 & 0x10)
    return _mm512_ternarylogic_epi32(x, at_4, _mm512_set1_epi8(0x10), 0xf8);
  }
  // kPair 0…3
  template <int kPair>
  static TAKT_INLINE U add_pair(U x, U pairs) {
    const U at_4 = kPair < 2 ? _mm512_slli_epi16(pairs, kPair < 2 ? 4 - 2 * kPair : 0)
                             : _mm512_srli_epi16(pairs, kPair < 2 ? 0 : 2 * kPair - 4);
    // x | (at_4 & 0x30)
    return _mm512_ternarylogic_epi32(x, at_4, _mm512_set1_epi8(0x30), 0xf8);
  }

  // Exact sums of products of unsigned weights and signed activations.
  template <int kBits, int kOffsetLog2>
  struct Dot {
    static constexpr bool kIsUnsigned = true;
    using W = U;
    I sum;
    static TAKT_INLINE I first_sum(I negated_sums) {
      return _mm512_madd_epi16(negated_sums, _mm512_set1_epi16(1 << kOffsetLog2));
    }
    TAKT_INLINE void start(I first) { sum = first; }
    static TAKT_INLINE W weights(U x) { return x; }
    template <int kGroup>
    TAKT_INLINE void add(W w, I activations) {
      sum = _mm512_dpbusd_epi32(sum, w, activations);
    }
    TAKT_INLINE I total() const { return sum; }
  };
};

}  // namespace takt::kernels
