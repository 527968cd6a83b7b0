// How a head vector becomes integers: the rotation that spreads outliers over all dimensions, and the rounding of formats q8_0 and q4.
// Plain IEEE operations in a fixed order, so that every set gives the same bits however its compiler vectorises them; the template
// parameter only keeps the symbols of the instruction sets apart. Canonical definition: docs/decisions/0002.
#pragma once

#include <cstdint>

#include "kernels/isa/targets.h"

namespace takt::kernels {

// The largest head vector (model/arch refuses larger ones).
inline constexpr int64_t kHeadDimMax = 1024;

// q4's levels, by magnitude: the sixteen levels that leave a Gaussian the smallest squared error (Max, "Quantizing for minimum
// distortion", 1960, table I: 0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733), times 127 / 2.733. A rotated vector is
// nearly Gaussian, whatever it was before.
constexpr float kQ4Levels[8] = {6, 18, 31, 44, 58, 75, 96, 127};
// (Not inline: a symbol that files of several instruction sets share would be one that leaks.)
// Code c stands for kQ4Table[c] × scale.
constexpr int8_t kQ4Table[16] = {-127, -96, -75, -58, -44, -31, -18, -6, 6, 18, 31, 44, 58, 75, 96, 127};

// The orthonormal Walsh-Hadamard transform (its own inverse) of each block of b values, b the largest power of two that divides n:
// for stride 1, 2, 4 … b / 2: (x[i], x[i + stride]) -> (sum, difference); then times 1 / sqrt(b).
template <class Isa>
TAKT_INLINE void rotate_head(float* x, int64_t n) {
  const int64_t block = n & -n;
  const float factor = 1.0f / Isa::scalar_sqrt(static_cast<float>(block));
  for (int64_t stride = 1; stride < block; stride *= 2)
    for (int64_t begin = 0; begin < n; begin += 2 * stride)
      for (int64_t i = begin; i < begin + stride; ++i) {
        const float a = x[i], b = x[i + stride];
        x[i] = a + b;
        x[i + stride] = a - b;
      }
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

// The largest magnitude; infinite or NaN when a value is (as integers, the bits of magnitudes order so).
TAKT_INLINE float head_magnitude(const float* x, int64_t n) {
  int32_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t bits = __builtin_bit_cast(int32_t, x[i]) & 0x7fffffff;
    most = bits > most ? bits : most;
  }
  return __builtin_bit_cast(float, most);
}

// To the nearest integer, ties to even. |x| < 2^22
TAKT_INLINE float round_to_integer(float x) {
  constexpr float kShift = 0x1.8p23f;
  return (x + kShift) - kShift;
}

// A scale as it is stored: rounded to binary16, read back.
struct HalfScale {
  uint16_t bits;
  float value;
};

template <class Isa>
TAKT_INLINE HalfScale half_scale(float x) {
  uint16_t bits[Isa::kLanes];
  float value[Isa::kLanes];
  Isa::store_f16(bits, Isa::set_f(x));
  Isa::store_f(value, Isa::load_f16(bits));
  return {bits[0], value[0]};
}

inline constexpr HalfScale kBrokenScale = {0x7e00, __builtin_nanf("")};

// codes = round(x / scale) within ±127, scale = binary16(largest magnitude / 127). A scale of 0: all codes 0. A value that is
// infinite or NaN: the scale is NaN, so that whatever uses the vector shows it.
template <class Isa>
TAKT_INLINE HalfScale encode_q8(const float* x, int64_t n, int8_t* codes) {
  const float most = head_magnitude(x, n);
  const bool is_sound = most < __builtin_inff();
  const HalfScale scale = is_sound ? half_scale<Isa>(most / 127.0f) : kBrokenScale;
  const float factor = is_sound && scale.value > 0 ? 1.0f / scale.value : 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    const float y = factor > 0 ? x[i] * factor : 0.0f;
    codes[i] = static_cast<int8_t>(round_to_integer(y > 127.0f ? 127.0f : y < -127.0f ? -127.0f : y));
  }
  return scale;
}

// The level nearest to |y|, as its index: how many midpoints between levels are below it.
TAKT_INLINE int32_t q4_index(float y) {
  const float magnitude = __builtin_fabsf(y);
  int32_t index = 0;
  for (int i = 0; i < 7; ++i) index += magnitude > (kQ4Levels[i] + kQ4Levels[i + 1]) * 0.5f ? 1 : 0;
  return index;
}

// Sums over a head vector: sixteen partial sums, number i over i, i + 16, …, then i + (i + 8), + 4, + 2, + 1. n is a multiple of 16.
TAKT_INLINE float tree_sum(float* parts) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
  return parts[0];
}

// The scale with the smallest squared error for the codes that `scale` would give: Σ x·level / Σ level²; `gain` is what it takes from Σ x².
struct ScaleFit {
  float scale;
  float gain;
};

TAKT_INLINE ScaleFit fit_q4(const float* x, int64_t n, float scale) {
  const float factor = 1.0f / scale;
  float products[16] = {}, squares[16] = {};
  for (int64_t i = 0; i < n; i += 16)
    for (int j = 0; j < 16; ++j) {
      const float level = kQ4Levels[q4_index(x[i + j] * factor)];
      products[j] += __builtin_fabsf(x[i + j]) * level;
      squares[j] += level * level;
    }
  const float product = tree_sum(products), square = tree_sum(squares);
  return {product / square, product / square * product};
}

// Codes 0 … 15 for the best of a few scales around (largest magnitude / 127), each replaced by its least-squares fit.
template <class Isa>
TAKT_INLINE HalfScale encode_q4(const float* x, int64_t n, int8_t* codes) {
  const float most = head_magnitude(x, n);
  HalfScale scale = kBrokenScale;
  if (most < __builtin_inff()) {
    ScaleFit best = {0.0f, -1.0f};
    if (most > 0x1p-100f)
      for (float step : {0.7f, 0.8f, 0.9f, 1.0f, 1.1f}) {
        const ScaleFit fit = fit_q4(x, n, most * step / 127.0f);
        if (fit.gain > best.gain) best = fit;
      }
    scale = half_scale<Isa>(best.scale);
  }
  const float factor = scale.value > 0 ? 1.0f / scale.value : 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    const float y = factor > 0 ? x[i] * factor : 0.0f;
    const int32_t index = q4_index(y);
    codes[i] = static_cast<int8_t>(y < 0 ? 7 - index : 8 + index);
  }
  return scale;
}

// Queries and probabilities that meet integers become integers too, but of 15 bits, whose rounding is far below that of the keys and
// values: codes = round(x × (16383 / largest magnitude)), scale = largest magnitude / 16383. 16383 × 127 × kHeadDimMax < 2^31.
inline constexpr float kWideCodeMax = 16383.0f;

TAKT_INLINE float encode_wide(const float* x, int64_t n, int16_t* codes) {
  const float most = head_magnitude(x, n);
  const bool is_sound = most < __builtin_inff();
  const float factor = is_sound && most >= 0x1p-100f ? kWideCodeMax / most : 0.0f;
  for (int64_t i = 0; i < n; ++i) codes[i] = static_cast<int16_t>(round_to_integer(factor > 0 ? x[i] * factor : 0.0f));
  return !is_sound ? __builtin_nanf("") : factor > 0 ? most / kWideCodeMax : 0.0f;
}

}  // namespace takt::kernels
