// Row operations. Sums over a row are canonical: sixteen partial sums, number i over the elements i, i + 16, … in ascending order
// (the tail padded with zeros), then the tree of Isa::sum16.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/canonical.h"
#include "kernels/shared/math.h"

namespace takt::kernels {

// out[i] = f(vector of x at i, of y at i) for all i of a row; f gets zeros beyond the end.
template <class Isa, class Function>
TAKT_INLINE void map_row(const float* x, const float* y, int64_t n, float* out, const Function& f) {
  int64_t i = 0;
  for (; i + Isa::kLanes <= n; i += Isa::kLanes) Isa::store_f(out + i, f(Isa::load_f(x + i), Isa::load_f(y + i)));
  if (i < n) Isa::store_f(out + i, f(Isa::load_f(x + i, n - i), Isa::load_f(y + i, n - i)), n - i);
}

template <class Isa>
TAKT_INLINE float sum_of_squares(const float* x, int64_t n) {
  constexpr int kVectors = 16 / Isa::kLanes;
  typename Isa::F parts[kVectors];
  unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { parts[v.value] = Isa::set_f(0.0f); });
  for (int64_t i = 0; i < n; i += 16) {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      const int64_t first = i + v.value * Isa::kLanes, left = n - first;
      const auto values = left >= Isa::kLanes ? Isa::load_f(x + first) : Isa::load_f(x + first, left > 0 ? left : 0);
      parts[v.value] = Isa::fma(values, values, parts[v.value]);
    });
  }
  return Isa::sum16(parts);
}

template <class Isa>
void rms_norm(const float* x, const float* weight, float eps, int64_t n, float* out) {
  const float mean = sum_of_squares<Isa>(x, n) / static_cast<float>(n);
  const auto factor = Isa::set_f(1.0f / Isa::scalar_sqrt(mean + eps));
  map_row<Isa>(x, weight, n, out,
               [&](auto value, auto w) TAKT_INLINE_LAMBDA { return Isa::mul(Isa::mul(value, factor), w); });
}

template <class Isa>
void add(const float* x, const float* y, int64_t n, float* out) {
  map_row<Isa>(x, y, n, out, [](auto a, auto b) TAKT_INLINE_LAMBDA { return Isa::add(a, b); });
}

template <class Isa>
void scale(const float* x, float factor, int64_t n, float* out) {
  const auto factors = Isa::set_f(factor);
  map_row<Isa>(x, x, n, out, [&](auto a, auto) TAKT_INLINE_LAMBDA { return Isa::mul(a, factors); });
}

template <class Isa>
void silu_multiply(const float* gate, const float* up, int64_t n, float* out) {
  map_row<Isa>(gate, up, n, out,
               [](auto x, auto y) TAKT_INLINE_LAMBDA { return Isa::mul(times_sigmoid<Isa>(x, x), y); });
}

// 0.5 x (1 + tanh(u)) with u = √(2/π) (x + 0.044715 x³) equals x / (1 + e^-2u), which loses nothing to cancellation.
template <class Isa>
void gelu_multiply(const float* gate, const float* up, int64_t n, float* out) {
  const auto twice_sqrt_2_over_pi = Isa::set_f(1.5957691216057308f), cubic = Isa::set_f(0.044715f);
  map_row<Isa>(gate, up, n, out, [&](auto x, auto y) TAKT_INLINE_LAMBDA {
    const auto inner = Isa::fma(Isa::mul(Isa::mul(x, x), x), cubic, x);
    return Isa::mul(times_sigmoid<Isa>(x, Isa::mul(inner, twice_sqrt_2_over_pi)), y);
  });
}

// (a, b) -> (a cos - b sin, a sin + b cos), each one product and one fused multiply-add.
template <class Isa>
TAKT_INLINE void rotate(typename Isa::F& a, typename Isa::F& b, typename Isa::F cos, typename Isa::F sin) {
  const auto zero = Isa::set_f(0.0f);
  const auto first = Isa::fma(a, cos, Isa::sub(zero, Isa::mul(b, sin)));
  b = Isa::fma(b, cos, Isa::mul(a, sin));
  a = first;
}

template <class Isa>
TAKT_INLINE void rotate_halves(float* x, int64_t half, const float* cos, const float* sin) {
  for (int64_t i = 0; i < half; i += Isa::kLanes) {
    const int64_t count = half - i < Isa::kLanes ? half - i : Isa::kLanes;
    auto a = Isa::load_f(x + i, count), b = Isa::load_f(x + half + i, count);
    rotate<Isa>(a, b, Isa::load_f(cos + i, count), Isa::load_f(sin + i, count));
    Isa::store_f(x + i, a, count);
    Isa::store_f(x + half + i, b, count);
  }
}

template <class Isa>
TAKT_INLINE void rotate_adjacent(float* x, int64_t half, const float* cos, const float* sin) {
  for (int64_t i = 0; i < half; i += Isa::kLanes) {
    const int64_t count = half - i < Isa::kLanes ? half - i : Isa::kLanes;
    const int64_t first = 2 * count < Isa::kLanes ? 2 * count : Isa::kLanes, second = 2 * count - first;
    const auto low = Isa::load_f(x + 2 * i, first), high = Isa::load_f(x + 2 * i + first, second);
    typename Isa::F a, b, low_out, high_out;
    Isa::deinterleave(low, high, a, b);
    rotate<Isa>(a, b, Isa::load_f(cos + i, count), Isa::load_f(sin + i, count));
    Isa::interleave(a, b, low_out, high_out);
    Isa::store_f(x + 2 * i, low_out, first);
    Isa::store_f(x + 2 * i + first, high_out, second);
  }
}

template <class Isa>
void rope(float* heads, int64_t head_count, int64_t head_dim, int64_t rope_dim, const float* cos, const float* sin,
          RopePairs pairs) {
  for (int64_t head = 0; head < head_count; ++head) {
    if (pairs == RopePairs::halves)
      rotate_halves<Isa>(heads + head * head_dim, rope_dim / 2, cos, sin);
    else
      rotate_adjacent<Isa>(heads + head * head_dim, rope_dim / 2, cos, sin);
  }
}

}  // namespace takt::kernels
