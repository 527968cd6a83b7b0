// Linear layers for one to eight rows: the packed weights stream through registers once, each unpacked vector serves all rows.
// Canonical definition: docs/decisions/0002.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/float_tile.h"
#include "kernels/shared/unpack.h"

namespace takt::kernels {

// The hardware prefetcher loses the thread where the next panel's scale and quant sections begin, so the kernel asks ahead itself:
// for the quants a fixed distance ahead, across the next panel's scales, and for the scales one panel ahead. Distance = bandwidth
// × latency: 30 GB/s × 130 ns. One Zen 5 core, Q4_0 and Q4_K, read 14 GB/s without it; 18 to 22 at 1 KiB and 21 to 25 at 2 KiB;
// 28 to 31 at 4 KiB; 22 to 31 at 6 and 8 KiB (a plain loop without prefetch: 24).
inline constexpr int kPrefetchDistance = 4096;

template <int kBytes>
TAKT_INLINE void prefetch(const uint8_t* p) {
  unroll<kBytes / 64>([&](auto line) TAKT_INLINE_LAMBDA { __builtin_prefetch(p + line.value * 64, 0, 3); });
}

template <class Isa, base::WeightFormat kFormat, int kRows>
struct DecodeQuantised {
  using F = typename Isa::F;
  using Layout = PanelLayout<kFormat>;
  using Dot = typename Isa::template Dot<Layout::kBits, Layout::kOffsetLog2>;

  const std::byte* activations;  // [kRows] prepared rows
  int64_t row_bytes;
  int64_t k;
  F sums[kRows];

  TAKT_INLINE const int8_t* q(int row) const { return reinterpret_cast<const int8_t*>(activations + row * row_bytes); }
  TAKT_INLINE ActivationBlock block(int row, int64_t i) const {
    ActivationBlock out;
    __builtin_memcpy(&out, activations + row * row_bytes + k + i * int64_t{sizeof out}, sizeof out);
    return out;
  }

  // Groups [kFirst, kFirst + kCount) of sub-block i, with one scale.
  template <int kFirst, int kCount, int kHalf>
  TAKT_INLINE void add_groups(const uint8_t* quants, int lane, int64_t i, F scale) {
    Dot dots[kRows];
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      dots[row.value].start(first_sum<Isa, Layout, Dot, kHalf>(block(row.value, i)));
    });
    unroll<kCount>([&](auto g) TAKT_INLINE_LAMBDA {
      const auto weights = Dot::weights(unpack_group<Isa, kFormat, kFirst + g.value>(quants, lane));
      unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
        dots[row.value].template add<g.value>(
            weights, load_activation_group<Isa>(q(row.value) + i * 32 + (kFirst + g.value) * 4));
      });
    });
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      const auto total = dots[row.value].total();
      const F factor = Isa::mul(scale, Isa::set_f(block(row.value, i).scale));
      sums[row.value] = Isa::fma(Isa::to_f(total), factor, sums[row.value]);
    });
  }

  TAKT_INLINE void add_sub_block(const BlockScales<Isa, kFormat>& scales, const uint8_t* quants, int lane, int sub,
                                 int64_t i) {
    if constexpr (Layout::kScalesPer32 == 2) {
      add_groups<0, 4, 0>(quants, lane, i, scales.scale(sub, 0));
      add_groups<4, 4, 1>(quants, lane, i, scales.scale(sub, 1));
    } else {
      add_groups<0, 8, -1>(quants, lane, i, scales.scale(sub, 0));
    }
    if constexpr (Layout::kHasMinimum) {
      const F minimum = scales.minimum(sub);
      unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
        sums[row.value] = Isa::fma(minimum, Isa::set_f(block(row.value, i).sum), sums[row.value]);
      });
    }
  }

  TAKT_INLINE void run(const uint8_t* panel, int64_t scale_bytes, int lane) {
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA { sums[row.value] = Isa::set_f(0.0f); });
    const uint8_t* quants = panel + scale_bytes;
    const int64_t block_count = k / Layout::kBlockWeights;
    const uint8_t* panel_end = quants + k / 32 * Layout::kQuantBytes;
    for (int64_t b = 0; b < block_count; ++b) {
      const BlockScales<Isa, kFormat> scales(panel + b * Layout::kScaleBytes, lane);
      for (int sub = 0; sub < Layout::kSubBlocks; ++sub, quants += Layout::kQuantBytes) {
        const uint8_t* ahead = quants + kPrefetchDistance;
        prefetch<Layout::kQuantBytes>(ahead < panel_end ? ahead : ahead + scale_bytes);
        prefetch<64>(panel_end + b * Layout::kScaleBytes + sub * 64);
        add_sub_block(scales, quants, lane, sub, b * Layout::kSubBlocks + sub);
      }
    }
  }
};

template <class Isa, base::WeightFormat kFormat>
void decode_quantised(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                      int64_t panel_end, float* out, int64_t out_stride) {
  const PanelGeometry geometry = panel_geometry<kFormat>(weights.k);
  const auto row_bytes = static_cast<int64_t>(activation_row_bytes(ActivationKind::q8, weights.k));
  for (int64_t column = panel_begin * 16; column < panel_end * 16 && column < weights.n; column += Isa::kLanes) {
    const auto* panel = reinterpret_cast<const uint8_t*>(weights.data + column / 16 * geometry.panel_bytes);
    // Tiles of nearly equal height; the first brings the panel into L1, the others read it there.
    const int64_t tile_count = (m + Isa::kDecodeTileRows - 1) / Isa::kDecodeTileRows;
    for (int64_t t = 0; t < tile_count; ++t) {
      const int64_t row = m * t / tile_count;
      dispatch_count<Isa::kDecodeTileRows>(m * (t + 1) / tile_count - row, [&](auto rows) TAKT_INLINE_LAMBDA {
        constexpr int kRows = decltype(rows)::value;
        DecodeQuantised<Isa, kFormat, kRows> tile{activations + row * row_bytes, row_bytes, weights.k, {}};
        tile.run(panel, geometry.scale_bytes, static_cast<int>(column % 16));
        unroll<kRows>([&](auto r) TAKT_INLINE_LAMBDA {
          store_columns<Isa>(out + (row + r.value) * out_stride + column, tile.sums[r.value], weights.n - column);
        });
      });
    }
  }
}

// Column vectors in flight: one chain of fused multiply-adds has a latency of four cycles at two a cycle, so about eight chains
// are wanted, and four streams of memory are enough for one row.
template <class Isa>
constexpr int decode_float_columns(int rows) {
  const int fitting = Isa::kFloatTileVectors / rows;
  return fitting >= 4 && rows <= 2 ? 4 : fitting >= 2 ? 2 : 1;
}

template <class Isa, base::WeightFormat kFormat>
void decode_float(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                  int64_t panel_end, float* out, int64_t out_stride) {
  const FloatOperands operands{weights, reinterpret_cast<const float*>(activations),
                               static_cast<int64_t>(activation_row_bytes(ActivationKind::f32, weights.k)) / 4, out,
                               out_stride};
  for (int64_t row = 0; row < m; row += Isa::kDecodeTileRows) {
    dispatch_count<Isa::kDecodeTileRows>(m - row, [&](auto rows) TAKT_INLINE_LAMBDA {
      constexpr int kRows = decltype(rows)::value;
      run_float_columns<Isa, kFormat, kRows, decode_float_columns<Isa>(kRows)>(operands, row, panel_begin, panel_end);
    });
  }
}

template <class Isa>
void linear_decode(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                   int64_t panel_end, float* out, int64_t out_stride) {
  using base::WeightFormat;
  static constexpr decltype(&linear_decode<Isa>) kKernels[base::kWeightFormatCount] = {
      // in the order of WeightFormat
      decode_float<Isa, WeightFormat::f32>,      decode_float<Isa, WeightFormat::f16>,
      decode_float<Isa, WeightFormat::bf16>,     decode_quantised<Isa, WeightFormat::q4_0>,
      decode_quantised<Isa, WeightFormat::q4_1>, decode_quantised<Isa, WeightFormat::q5_0>,
      decode_quantised<Isa, WeightFormat::q5_1>, decode_quantised<Isa, WeightFormat::q8_0>,
      decode_quantised<Isa, WeightFormat::q4_k>, decode_quantised<Isa, WeightFormat::q5_k>,
      decode_quantised<Isa, WeightFormat::q6_k>};
  kKernels[static_cast<int>(weights.format)](weights, activations, m, panel_begin, panel_end, out, out_stride);
}

}  // namespace takt::kernels
