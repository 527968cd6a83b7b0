// Policy in plain C++: sixteen lanes in an array. It defines what the other policies compute, serves as their oracle and as the
// fallback. Fused multiply-add is std::fma's.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "kernels/isa/targets.h"

namespace takt::kernels {

struct Portable {
  static constexpr int kLanes = 16;
  // Register tiles: of one, since the code is large as it is. Any values give the same results.
  static constexpr int kDecodeTileRows = 1;
  static constexpr int kPrefillTileRows = 1;
  static constexpr int kPrefillTileColumns = 1;
  static constexpr int kFloatTileVectors = 1;
  static constexpr int kScoreTileRows = 1;
  static constexpr int kCodeTileRows = 1;
  static constexpr int kCodeTileVectors = 1;
  static constexpr int kValueTileRows = 1;
  static constexpr int kValueTileVectors = 1;
  struct F {
    float v[kLanes];
  };
  struct I {
    int32_t v[kLanes];
  };
  struct U {
    uint8_t v[kLanes * 4];
  };

  // A vector whose lane i is f(i).
  template <class V, class Function>
  static TAKT_INLINE V lanes(const Function& f) {
    V out;
    for (int i = 0; i < static_cast<int>(sizeof out.v / sizeof out.v[0]); ++i) out.v[i] = f(i);
    return out;
  }

  static F set_f(float x) {
    return lanes<F>([&](int) { return x; });
  }
  static F load_f(const float* p) {
    return lanes<F>([&](int i) { return p[i]; });
  }
  // The first n lanes; zero beyond. 0 <= n <= kLanes
  static F load_f(const float* p, int64_t n) {
    return lanes<F>([&](int i) { return i < n ? p[i] : 0.0f; });
  }
  static void store_f(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }
  static void store_f(float* p, F x, int64_t n) { std::memcpy(p, x.v, static_cast<size_t>(n) * sizeof(float)); }
  static uint16_t u16_at(const void* p, int i) {
    uint16_t bits;
    std::memcpy(&bits, static_cast<const char*>(p) + i * 2, sizeof bits);
    return bits;
  }
  static F load_f16(const void* p) {
    return lanes<F>([&](int i) { return base::half_to_float(u16_at(p, i)); });
  }
  static F load_bf16(const void* p) {
    return lanes<F>([&](int i) { return base::bf16_to_float(u16_at(p, i)); });
  }
  static void store_f16(void* p, F x) {
    uint16_t bits[kLanes];
    for (int i = 0; i < kLanes; ++i) bits[i] = base::float_to_half(x.v[i]);
    std::memcpy(p, bits, sizeof bits);
  }

  static F add(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] / b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return lanes<F>([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  // The second operand where either is NaN.
  static F max(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F min(F a, F b) {
    return lanes<F>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  // Lanes [begin, end) of x, `other` elsewhere. 0 <= begin, end <= kLanes
  static F keep_lanes(F x, int64_t begin, int64_t end, float other) {
    return lanes<F>([&](int i) { return i >= begin && i < end ? x.v[i] : other; });
  }
  // a, b: consecutive values -> those of even and of odd index, and back.
  static void deinterleave(F a, F b, F& even, F& odd) {
    even = lanes<F>([&](int i) { return i < 8 ? a.v[2 * i] : b.v[2 * i - 16]; });
    odd = lanes<F>([&](int i) { return i < 8 ? a.v[2 * i + 1] : b.v[2 * i - 15]; });
  }
  static void interleave(F even, F odd, F& a, F& b) {
    a = lanes<F>([&](int i) { return i % 2 == 0 ? even.v[i / 2] : odd.v[i / 2]; });
    b = lanes<F>([&](int i) { return i % 2 == 0 ? even.v[8 + i / 2] : odd.v[8 + i / 2]; });
  }
  // The canonical tree over sixteen values, given as 16 / kLanes vectors: lane i + lane i + 8, then + 4, + 2, + 1.
  static float sum16(const F* parts) {
    float x[kLanes];
    std::memcpy(x, parts->v, sizeof x);
    for (int width = 8; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) x[i] = x[i] + x[i + width];
    return x[0];
  }
  static float max16(const F* parts) {
    float most = parts->v[0];
    for (int i = 1; i < kLanes; ++i) most = parts->v[i] > most ? parts->v[i] : most;
    return most;
  }
  static float scalar_sqrt(float x) { return std::sqrt(x); }
  static float scalar_fma(float a, float b, float c) { return std::fma(a, b, c); }

  static I set_i(int32_t x) {
    return lanes<I>([&](int) { return x; });
  }
  static I load_u8(const uint8_t* p) {
    return lanes<I>([&](int i) { return p[i]; });
  }
  static I load_i8(const uint8_t* p) {
    return lanes<I>([&](int i) { return static_cast<int8_t>(p[i]); });
  }
  // Two signed bytes a lane, or two 16-bit integers; the lower one first.
  static int32_t pair(int32_t low, int32_t high) {
    return static_cast<int32_t>(static_cast<uint32_t>(low & 0xffff) | (static_cast<uint32_t>(high) << 16));
  }
  static I widen_i8(const uint8_t* p) {
    return lanes<I>([&](int i) { return pair(static_cast<int8_t>(p[2 * i]), static_cast<int8_t>(p[2 * i + 1])); });
  }
  // The same for table[low four bits] and table[high four bits] of each byte.
  static void widen_nibbles(const uint8_t* p, const int8_t* table, I& low, I& high) {
    low = lanes<I>([&](int i) { return pair(table[p[2 * i] & 15], table[p[2 * i + 1] & 15]); });
    high = lanes<I>([&](int i) { return pair(table[p[2 * i] >> 4], table[p[2 * i + 1] >> 4]); });
  }
  static I load_i(const void* p) {
    I x;
    std::memcpy(x.v, p, sizeof x.v);
    return x;
  }
  static void store_i(void* p, I x) { std::memcpy(p, x.v, sizeof x.v); }
  // sum + the two products of 16-bit integers of each lane.
  static I dot_pairs(I sum, I a, I b) {
    return lanes<I>([&](int i) {
      const int32_t low = static_cast<int16_t>(a.v[i] & 0xffff) * static_cast<int16_t>(b.v[i] & 0xffff);
      return wrapped(u32(sum.v[i]) + u32(low) + u32((a.v[i] >> 16) * (b.v[i] >> 16)));
    });
  }
  static void store_i8(int8_t* p, I x) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(x.v[i]);
  }
  // Integer additions and left shifts wrap.
  static int32_t wrapped(uint32_t x) { return static_cast<int32_t>(x); }
  static uint32_t u32(int32_t x) { return static_cast<uint32_t>(x); }
  static I add_i(I a, I b) {
    return lanes<I>([&](int i) { return wrapped(u32(a.v[i]) + u32(b.v[i])); });
  }
  static I sub_i(I a, I b) {
    return lanes<I>([&](int i) { return wrapped(u32(a.v[i]) - u32(b.v[i])); });
  }
  static I sub_i16(I a, I b) {
    return lanes<I>([&](int i) {
      const uint32_t high = (u32(a.v[i]) & 0xffff0000u) - (u32(b.v[i]) & 0xffff0000u);
      return wrapped(high | ((u32(a.v[i]) - u32(b.v[i])) & 0xffffu));
    });
  }
  static I and_i(I a, I b) {
    return lanes<I>([&](int i) { return a.v[i] & b.v[i]; });
  }
  static I max_i(I a, I b) {
    return lanes<I>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  template <int kBits>
  static I shl_i(I a) {
    return lanes<I>([&](int i) { return wrapped(u32(a.v[i]) << kBits); });
  }
  template <int kBits>
  static I sra_i(I a) {
    return lanes<I>([&](int i) { return a.v[i] >> kBits; });
  }
  static int32_t reduce_max_i(I a) {
    int32_t most = a.v[0];
    for (int i = 1; i < kLanes; ++i) most = a.v[i] > most ? a.v[i] : most;
    return most;
  }
  static PairSums reduce_pairs_i(I a) {
    PairSums sums = {0, 0};
    for (int i = 0; i < kLanes; ++i) (i % 4 < 2 ? sums.first : sums.second) += a.v[i];
    return sums;
  }
  static F to_f(I a) {
    return lanes<F>([&](int i) { return static_cast<float>(a.v[i]); });
  }
  // To the nearest, ties to even. |a| < 2^22
  static I round_i(F a) {
    constexpr float kShift = 0x1.8p23f;  // has spacing 1: the addition rounds
    return lanes<I>([&](int i) { return static_cast<int32_t>((a.v[i] + kShift) - kShift); });
  }
  static F bits_f(I a) { return std::bit_cast<F>(a); }
  static I bits_i(F a) { return std::bit_cast<I>(a); }

  static U load_u(const uint8_t* p) {
    return lanes<U>([&](int i) { return p[i]; });
  }
  static void store_u(uint8_t* p, U x) { std::memcpy(p, x.v, sizeof x.v); }
  static U low_nibbles(U x) {
    return lanes<U>([&](int i) { return static_cast<uint8_t>(x.v[i] & 15); });
  }
  static U high_nibbles(U x) {
    return lanes<U>([&](int i) { return static_cast<uint8_t>(x.v[i] >> 4); });
  }
  // Adds 16 × (bit kBit of the byte of `planes`). x < 16
  template <int kBit>
  static U add_fifth(U x, U planes) {
    return lanes<U>([&](int i) { return static_cast<uint8_t>(x.v[i] | (((planes.v[i] >> kBit) & 1) << 4)); });
  }
  // Adds 16 × (bits 2 kPair, 2 kPair + 1 of the byte of `pairs`). x < 16
  template <int kPair>
  static U add_pair(U x, U pairs) {
    return lanes<U>([&](int i) { return static_cast<uint8_t>(x.v[i] | (((pairs.v[i] >> (2 * kPair)) & 3) << 4)); });
  }

  // Exact sums of products: lane i of the sum takes weights 4 i … 4 i + 3 of each group times the four activations that every lane
  // of `activations` holds as bytes. kBits: weights are below 2^kBits. At most eight groups, numbered in ascending order.
  // They start with what the offset 2^kOffsetLog2 of the weights adds: first_sum(ActivationBlock::negated_sums), or zeros without one.
  template <int kBits, int kOffsetLog2>
  struct Dot {
    // Weights are taken as stored, unsigned with the format's offset; else they were made signed by weights().
    static constexpr bool kIsUnsigned = true;
    using W = U;
    I sum;
    static I first_sum(I negated_sums) {
      return lanes<I>([&](int i) {
        return (static_cast<int16_t>(negated_sums.v[i]) + (negated_sums.v[i] >> 16)) * (1 << kOffsetLog2);
      });
    }
    void start(I first) { sum = first; }
    static W weights(U x) { return x; }
    template <int kGroup>
    void add(const W& w, I activations) {
      for (int i = 0; i < kLanes; ++i) {
        int8_t a[4];
        std::memcpy(a, &activations.v[i], sizeof a);
        for (int j = 0; j < 4; ++j) sum.v[i] += w.v[4 * i + j] * a[j];
      }
    }
    I total() const { return sum; }
  };
};

}  // namespace takt::kernels
