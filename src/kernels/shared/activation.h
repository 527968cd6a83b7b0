// Preparing an activation row. Kind f32: the values, padded with zeros. Kind q8, for k a multiple of 32:
//   [k] signed bytes, then per block of 32 an ActivationBlock; padded to a multiple of 64 bytes.
//
// Canonical (docs/decisions/0002): with amax the block's largest magnitude,
//   amax < 2^-120 (a "zero block"): scale 0 and all values 0;
//   amax infinite or any value NaN: scale NaN and all values 0, so that every output of the row is NaN;
//   else y = x × (127 / amax), q = y to the nearest, ties to even, so that |q| <= 127; scale = (amax / 127) × (Σ y·q / Σ q²): of all
//   scales the one that leaves the smallest squared error for these q. Each operation rounded to float32; Σ y·q as
//   p[i] = fma(y[i + 16], q[i + 16], y[i]·q[i]), then the tree of Isa::sum16; Σ q² is exact.
// The last factor takes the error that lies along the block itself away, one of its 32 dimensions.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/canonical.h"

namespace takt::kernels {

struct ActivationBlock {
  float scale;
  float sum;  // scale × the sum of the 32 quantised values: what a minimum is multiplied with
  // Two 16-bit halves: −(sum of the quantised values 0, 1 of each four), −(sum of the values 2, 3 of each four): as a product of byte
  // pairs has them. Magnitudes are at most 16 × 127.
  int32_t negated_sums;
  int32_t negated_sums_high;  // of the upper 16 values
};

inline constexpr float kZeroBlockMagnitude = 0x1p-120f;

TAKT_INLINE int32_t packed_negated(PairSums sums) {
  return static_cast<int32_t>((static_cast<uint32_t>(-sums.second) << 16) |
                              (static_cast<uint32_t>(-sums.first) & 0xffffu));
}

template <class Isa>
struct ActivationQuantiser {
  static constexpr int kVectors = 32 / Isa::kLanes;

  static TAKT_INLINE float magnitude_max(const float* x) {
    const typename Isa::I magnitude_bits = Isa::set_i(0x7fffffff);
    typename Isa::I most = Isa::set_i(0);
    // As integers the bits of magnitudes order like the values, infinities and then NaN on top.
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      most = Isa::max_i(most, Isa::and_i(Isa::bits_i(Isa::load_f(x + v.value * Isa::kLanes)), magnitude_bits));
    });
    return __builtin_bit_cast(float, Isa::reduce_max_i(most));
  }

  static TAKT_INLINE ActivationBlock quantise(const float* x, int8_t* q) {
    const float most = magnitude_max(x);
    ActivationBlock block = {0.0f, 0.0f, 0, 0};
    if (!(most >= kZeroBlockMagnitude && most < __builtin_inff())) {
      __builtin_memset(q, 0, 32);
      if (!(most < kZeroBlockMagnitude)) block.scale = block.sum = __builtin_nanf("");
      return block;
    }
    const typename Isa::F factor = Isa::set_f(127.0f / most);
    typename Isa::I low = Isa::set_i(0), high = Isa::set_i(0);
    typename Isa::F products[kVectors / 2], squares[kVectors / 2];
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      const auto scaled = Isa::mul(Isa::load_f(x + v.value * Isa::kLanes), factor);
      const auto rounded = Isa::round_i(scaled);
      const auto value = Isa::to_f(rounded);
      constexpr int kPlace = v.value % (kVectors / 2);
      if constexpr (v.value * 2 < kVectors) {
        products[kPlace] = Isa::mul(scaled, value);
        squares[kPlace] = Isa::mul(value, value);
      } else {
        products[kPlace] = Isa::fma(scaled, value, products[kPlace]);
        squares[kPlace] = Isa::fma(value, value, squares[kPlace]);
      }
      Isa::store_i8(q + v.value * Isa::kLanes, rounded);
      auto& half = v.value * 2 < kVectors ? low : high;
      half = Isa::add_i(half, rounded);
    });
    const PairSums sums_high = Isa::reduce_pairs_i(high), sums = Isa::reduce_pairs_i(Isa::add_i(low, high));
    block.scale = most / 127.0f * (Isa::sum16(products) / Isa::sum16(squares));
    block.sum = block.scale * static_cast<float>(sums.first + sums.second);
    block.negated_sums = packed_negated(sums);
    block.negated_sums_high = packed_negated(sums_high);
    return block;
  }
};

template <class Isa>
void prepare_activation(ActivationKind kind, const float* x, int64_t k, std::byte* out) {
  const int64_t row_bytes = static_cast<int64_t>(activation_row_bytes(kind, k));
  if (kind == ActivationKind::f32) {
    __builtin_memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
    __builtin_memset(out + k * 4, 0, static_cast<size_t>(row_bytes - k * 4));
    return;
  }
  auto* q = reinterpret_cast<int8_t*>(out);
  std::byte* blocks = out + k;
  for (int64_t i = 0; i < k; i += 32) {
    const ActivationBlock block = ActivationQuantiser<Isa>::quantise(x + i, q + i);
    __builtin_memcpy(blocks + i / 2, &block, sizeof block);
  }
  __builtin_memset(blocks + k / 2, 0, static_cast<size_t>(row_bytes - k - k / 2));
}

}  // namespace takt::kernels
