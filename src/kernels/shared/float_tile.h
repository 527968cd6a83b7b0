// Linear layers of the float formats: float32 activations, weights converted exactly, and per output one chain of fused
// multiply-adds in ascending order of the inputs. A register tile of rows × column vectors hides the latency of the chains.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/unpack.h"

namespace takt::kernels {

struct FloatOperands {
  const PackedMatrix& weights;
  const float* activations;  // [m, activation_stride]
  int64_t activation_stride;
  float* out;  // [m, out_stride]
  int64_t out_stride;
};

// The values of input i of the column vector that begins at `lane` of a panel.
template <class Isa, base::WeightFormat kFormat>
TAKT_INLINE typename Isa::F load_float_weights(const std::byte* panel, int64_t i, int64_t lane) {
  const std::byte* p = panel + (i * 16 + lane) * PanelLayout<kFormat>::kBytes;
  if constexpr (kFormat == base::WeightFormat::f32)
    return Isa::load_f(reinterpret_cast<const float*>(p));
  else if constexpr (kFormat == base::WeightFormat::f16)
    return Isa::load_f16(p);
  else
    return Isa::load_bf16(p);
}

// Rows [row, row + kRows) × columns [column, column + kColumns × Isa::kLanes)
template <class Isa, base::WeightFormat kFormat, int kRows, int kColumns>
TAKT_INLINE void run_float_tile(const FloatOperands& operands, int64_t row, int64_t column) {
  const PackedMatrix& weights = operands.weights;
  const int64_t panel_bytes = panel_geometry<kFormat>(weights.k).panel_bytes;
  const std::byte* panels[kColumns];
  typename Isa::F sums[kRows][kColumns];
  unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
    panels[c.value] = weights.data + (column + c.value * Isa::kLanes) / 16 * panel_bytes;
    unroll<kRows>([&](auto r) TAKT_INLINE_LAMBDA { sums[r.value][c.value] = Isa::set_f(0.0f); });
  });
  const float* x = operands.activations + row * operands.activation_stride;
  for (int64_t i = 0; i < weights.k; ++i) {
    typename Isa::F w[kColumns];
    unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
      w[c.value] = load_float_weights<Isa, kFormat>(panels[c.value], i, (column + c.value * Isa::kLanes) % 16);
    });
    unroll<kRows>([&](auto r) TAKT_INLINE_LAMBDA {
      const auto activation = Isa::set_f(x[r.value * operands.activation_stride + i]);
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
        sums[r.value][c.value] = Isa::fma(w[c.value], activation, sums[r.value][c.value]);
      });
    });
  }
  unroll<kRows>([&](auto r) TAKT_INLINE_LAMBDA {
    unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
      const int64_t first = column + c.value * Isa::kLanes;
      store_columns<Isa>(operands.out + (row + r.value) * operands.out_stride + first, sums[r.value][c.value],
                         weights.n - first);
    });
  });
}

// All columns of the panels, kColumns vectors at once and the rest one by one.
template <class Isa, base::WeightFormat kFormat, int kRows, int kColumns>
TAKT_INLINE void run_float_columns(const FloatOperands& operands, int64_t row, int64_t panel_begin, int64_t panel_end) {
  int64_t column = panel_begin * 16;
  for (; column + kColumns * Isa::kLanes <= panel_end * 16; column += kColumns * Isa::kLanes)
    run_float_tile<Isa, kFormat, kRows, kColumns>(operands, row, column);
  for (; column < panel_end * 16; column += Isa::kLanes) run_float_tile<Isa, kFormat, kRows, 1>(operands, row, column);
}

}  // namespace takt::kernels
