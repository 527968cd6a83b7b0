// Policy for AVX2 with FMA and F16C: eight lanes in one register, half a panel. The operations are described in
// isa/vec_portable.h, which defines their results.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/isa/targets.h"

namespace takt::kernels {

struct Avx2 {
  static constexpr int kLanes = 8;
  // Register tiles for sixteen registers. Prefill, Zen 5, one core, Q4_0 / Q4_K / Q6_K in GOP/s: 3 × 2 247 / 236 / 250; 4 × 1
  // 216 / 212 / 235; 6 × 1 223 / 213 / 212; 2 × 2 207 / 209 / 247.
#ifdef TAKT_SMALL_TILES  // sanitizers multiply the code of a tile, and the results do not depend on its size
  static constexpr int kDecodeTileRows = 2;
  static constexpr int kPrefillTileRows = 2;
  static constexpr int kPrefillTileColumns = 1;
  static constexpr int kFloatTileVectors = 4;
  static constexpr int kScoreTileRows = 2;
  static constexpr int kCodeTileRows = 2;
  static constexpr int kCodeTileVectors = 2;
  static constexpr int kValueTileRows = 2;
  static constexpr int kValueTileVectors = 2;
#else
  static constexpr int kDecodeTileRows = 4;
  static constexpr int kPrefillTileRows = 4;
  static constexpr int kPrefillTileColumns = 2;
  static constexpr int kFloatTileVectors = 12;
  static constexpr int kScoreTileRows = 3;
  static constexpr int kCodeTileRows = 4;
  static constexpr int kCodeTileVectors = 2;
  static constexpr int kValueTileRows = 3;
  static constexpr int kValueTileVectors = 4;
#endif
  using F = __m256;
  using I = __m256i;
  using U = __m256i;

  static TAKT_INLINE I lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static TAKT_INLINE I first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane_numbers());
  }

  static TAKT_INLINE F set_f(float x) { return _mm256_set1_ps(x); }
  static TAKT_INLINE F load_f(const float* p) { return _mm256_loadu_ps(p); }
  static TAKT_INLINE F load_f(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  static TAKT_INLINE void store_f(float* p, F x) { _mm256_storeu_ps(p, x); }
  static TAKT_INLINE void store_f(float* p, F x, int64_t n) { _mm256_maskstore_ps(p, first(n), x); }
  static TAKT_INLINE F load_f16(const void* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE F load_bf16(const void* p) {
    const __m128i halves = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static TAKT_INLINE void store_f16(void* p, F x) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static TAKT_INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
  static TAKT_INLINE F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static TAKT_INLINE F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static TAKT_INLINE F div(F a, F b) { return _mm256_div_ps(a, b); }
  static TAKT_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static TAKT_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
  static TAKT_INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
  static TAKT_INLINE F keep_lanes(F x, int64_t begin, int64_t end, float other) {
    const I keep = _mm256_andnot_si256(first(begin), first(end));
    return _mm256_blendv_ps(_mm256_set1_ps(other), x, _mm256_castsi256_ps(keep));
  }
  static TAKT_INLINE void deinterleave(F a, F b, F& even, F& odd) {
    const F low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
    even = _mm256_shuffle_ps(low, high, 0x88);
    odd = _mm256_shuffle_ps(low, high, 0xdd);
  }
  static TAKT_INLINE void interleave(F even, F odd, F& a, F& b) {
    const F low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    a = _mm256_permute2f128_ps(low, high, 0x20);
    b = _mm256_permute2f128_ps(low, high, 0x31);
  }
  static TAKT_INLINE float sum16(const F* parts) {
    const F eight = _mm256_add_ps(parts[0], parts[1]);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static TAKT_INLINE float max16(const F* parts) {
    const F eight = _mm256_max_ps(parts[0], parts[1]);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static TAKT_INLINE float scalar_sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
  static TAKT_INLINE float scalar_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

  static TAKT_INLINE I set_i(int32_t x) { return _mm256_set1_epi32(x); }
  static TAKT_INLINE I load_u8(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE I load_i8(const uint8_t* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE I widen_i8(const uint8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TAKT_INLINE void widen_nibbles(const uint8_t* p, const int8_t* table, I& low, I& high) {
    const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)), mask = _mm_set1_epi8(15);
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    low = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(levels, _mm_and_si128(bytes, mask)));
    high = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(levels, _mm_and_si128(_mm_srli_epi16(bytes, 4), mask)));
  }
  static TAKT_INLINE I load_i(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static TAKT_INLINE void store_i(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
  static TAKT_INLINE I dot_pairs(I sum, I a, I b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static TAKT_INLINE void store_i8(int8_t* p, I x) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }
  static TAKT_INLINE I add_i(I a, I b) { return _mm256_add_epi32(a, b); }
  static TAKT_INLINE I sub_i(I a, I b) { return _mm256_sub_epi32(a, b); }
  static TAKT_INLINE I sub_i16(I a, I b) { return _mm256_sub_epi16(a, b); }
  static TAKT_INLINE I and_i(I a, I b) { return _mm256_and_si256(a, b); }
  static TAKT_INLINE I max_i(I a, I b) { return _mm256_max_epi32(a, b); }
  template <int kBits>
  static TAKT_INLINE I shl_i(I a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static TAKT_INLINE I sra_i(I a) {
    return _mm256_srai_epi32(a, kBits);
  }
  static TAKT_INLINE int32_t reduce_max_i(I a) {
    __m128i x = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }
  static TAKT_INLINE PairSums reduce_pairs_i(I a) {
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    const __m128i pairs = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return {_mm_cvtsi128_si32(pairs), _mm_extract_epi32(pairs, 2)};
  }
  static TAKT_INLINE F to_f(I a) { return _mm256_cvtepi32_ps(a); }
  static TAKT_INLINE I round_i(F a) { return _mm256_cvtps_epi32(a); }
  static TAKT_INLINE F bits_f(I a) { return _mm256_castsi256_ps(a); }
  static TAKT_INLINE I bits_i(F a) { return _mm256_castps_si256(a); }

  static TAKT_INLINE U load_u(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static TAKT_INLINE void store_u(uint8_t* p, U x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static TAKT_INLINE U low_nibbles(U x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static TAKT_INLINE U high_nibbles(U x) { return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15)); }
  template <int kBit>
  static TAKT_INLINE U add_fifth(U x, U planes) {
    const U at_4 = kBit < 4 ? _mm256_slli_epi16(planes, kBit < 4 ? 4 - kBit : 0)
                            : _mm256_srli_epi16(planes, kBit < 4 ? 0 : kBit - 4);
    return _mm256_or_si256(x, _mm256_and_si256(at_4, _mm256_set1_epi8(0x10)));
  }
  template <int kPair>
  static TAKT_INLINE U add_pair(U x, U pairs) {
    const U at_4 = kPair < 2 ? _mm256_slli_epi16(pairs, kPair < 2 ? 4 - 2 * kPair : 0)
                             : _mm256_srli_epi16(pairs, kPair < 2 ? 0 : 2 * kPair - 4);
    return _mm256_or_si256(x, _mm256_and_si256(at_4, _mm256_set1_epi8(0x30)));
  }

  // Keeps x in a register here. Without it GCC adds products as a tree, which needs more registers than there are.
  static TAKT_INLINE void pin(I& x) { asm("" : "+x"(x)); }

  // Without VNNI: products of a byte pair are summed in 16 bits (`maddubs`, which saturates, so that no single pair may exceed
  // 32767: unsigned weights below 2^kBits times |activations| <= 127, at most 2 × 63 × 127). Sums wrap, and only the last one has
  // to fit. That of formats with an offset starts with what the offset adds, so it is one of signed weights and fits for all
  // groups of a scale (8, for 6 bits 4): at most 8 × 2 × 16 × 127 = 32512. So does one of 4 bits without offset: 8 × 2 × 15 × 127. With
  // 5 bits without offset, four groups fit, and it is widened twice.
  template <int kBits, int kOffsetLog2>
  struct Dot {
    static constexpr bool kIsUnsigned = true;
    static constexpr bool kHasOffset = kOffsetLog2 >= 0;
    static constexpr int kGroupsIn16Bits = kBits == 6 || (kBits == 5 && !kHasOffset) ? 4 : 8;
    static_assert(kBits <= 6 && (kHasOffset ? kOffsetLog2 == kBits - 1 : kBits <= 5));
    using W = U;
    I pairs, sum;
    static TAKT_INLINE I first_sum(I negated_sums) {
      return _mm256_slli_epi16(negated_sums, kHasOffset ? kOffsetLog2 : 0);
    }
    TAKT_INLINE void start(I first) { pairs = first; }
    static TAKT_INLINE W weights(U x) { return x; }
    template <int kGroup>
    TAKT_INLINE void add(W w, I activations) {
      const I products = _mm256_maddubs_epi16(w, activations);
      if constexpr (kGroup == kGroupsIn16Bits) sum = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
      pairs =
          kGroup % kGroupsIn16Bits == 0 && (kGroup > 0 || !kHasOffset) ? products : _mm256_add_epi16(pairs, products);
      pin(pairs);
    }
    TAKT_INLINE I total() const {
      const I widened = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
      return kGroupsIn16Bits == 4 && kBits == 5 ? _mm256_add_epi32(sum, widened) : widened;
    }
  };
};

// Eight bits: stored + offset 128 would saturate, so the weights become signed again and their sign moves to the activations. A pair
// is at most 2 × 128 × 127 = 32512: exact. (−128 as a magnitude is the unsigned 128; activations are never −128.)
template <int kOffsetLog2>
struct Avx2::Dot<8, kOffsetLog2> {
  static constexpr bool kIsUnsigned = false;
  struct W {
    U value, magnitude;
  };
  I sum;
  TAKT_INLINE void start(I) { sum = _mm256_setzero_si256(); }
  static TAKT_INLINE W weights(U x) {
    const U value = _mm256_xor_si256(x, _mm256_set1_epi8(static_cast<char>(0x80)));
    return {value, _mm256_abs_epi8(value)};
  }
  template <int kGroup>
  TAKT_INLINE void add(const W& w, I activations) {
    const I products = _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(activations, w.value));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
    pin(sum);
  }
  TAKT_INLINE I total() const { return sum; }
};

}  // namespace takt::kernels
