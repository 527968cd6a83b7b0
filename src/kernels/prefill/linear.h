// Linear layers for many rows. Quantised formats: each panel is unpacked once into bytes and float32 scales, then multiplied with
// all rows in register tiles of rows × column vectors. Canonical definition: docs/decisions/0002.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/float_tile.h"
#include "kernels/shared/unpack.h"

namespace takt::kernels {

// One unpacked panel: quants [k / 4][16 rows][4] bytes, scales [k / 32 × kScalesPer32][16] and minimums [k / 32][16] float32.
struct UnpackedPanel {
  int64_t scale_offset;  // in bytes from the panel's start
  int64_t minimum_offset;
  int64_t bytes;
};

template <class Layout>
constexpr TAKT_INLINE UnpackedPanel unpacked_panel(int64_t k) {
  const int64_t quant_bytes = k * 16, scale_bytes = k / 32 * Layout::kScalesPer32 * 64;
  const int64_t minimum_bytes = Layout::kHasMinimum ? k / 32 * 64 : 0;
  return {quant_bytes, quant_bytes + scale_bytes, quant_bytes + scale_bytes + minimum_bytes};
}

template <class Isa, base::WeightFormat kFormat>
TAKT_INLINE void unpack_panel(const uint8_t* panel, int64_t k, uint8_t* out) {
  using Layout = PanelLayout<kFormat>;
  const UnpackedPanel unpacked = unpacked_panel<Layout>(k);
  auto* scales_out = reinterpret_cast<float*>(out + unpacked.scale_offset);
  auto* minimums_out = reinterpret_cast<float*>(out + unpacked.minimum_offset);
  for (int lane = 0; lane < 16; lane += Isa::kLanes) {
    const uint8_t* quants = panel + panel_geometry<kFormat>(k).scale_bytes;
    for (int64_t i = 0; i < k / 32; ++i, quants += Layout::kQuantBytes) {
      const BlockScales<Isa, kFormat> scales(panel + i / Layout::kSubBlocks * Layout::kScaleBytes, lane);
      const int sub = static_cast<int>(i % Layout::kSubBlocks);
      unroll<8>([&](auto g) TAKT_INLINE_LAMBDA {
        Isa::store_u(out + (i * 8 + g.value) * 64 + lane * 4, unpack_group<Isa, kFormat, g.value>(quants, lane));
      });
      unroll<Layout::kScalesPer32>([&](auto half) TAKT_INLINE_LAMBDA {
        Isa::store_f(scales_out + (i * Layout::kScalesPer32 + half.value) * 16 + lane, scales.scale(sub, half.value));
      });
      if constexpr (Layout::kHasMinimum) Isa::store_f(minimums_out + i * 16 + lane, scales.minimum(sub));
    }
  }
}

// kRows activation rows × kColumns column vectors; column vector c begins at panel (c × Isa::kLanes) / 16 of the scratch.
template <class Isa, class Layout, int kRows, int kColumns>
struct PrefillTile {
  using F = typename Isa::F;
  using Dot = typename Isa::template Dot<Layout::kBits, Layout::kOffsetLog2>;

  const std::byte* activations;
  int64_t row_bytes;
  int64_t k;
  const uint8_t* panels;
  int lane;
  F sums[kRows][kColumns];

  TAKT_INLINE const uint8_t* column(int c, const UnpackedPanel& unpacked) const {
    const int first = lane + c * Isa::kLanes;
    return panels + first / 16 * unpacked.bytes + first % 16 * 4;
  }
  TAKT_INLINE ActivationBlock block(int row, int64_t i) const {
    ActivationBlock out;
    __builtin_memcpy(&out, activations + row * row_bytes + k + i * int64_t{sizeof out}, sizeof out);
    return out;
  }

  template <int kFirst, int kCount, int kHalf>
  TAKT_INLINE void add_groups(const UnpackedPanel& unpacked, int64_t i) {
    Dot dots[kRows][kColumns];
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      const auto start = first_sum<Isa, Layout, Dot, kHalf>(block(row.value, i));
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA { dots[row.value][c.value].start(start); });
    });
    unroll<kCount>([&](auto g) TAKT_INLINE_LAMBDA {
      const int64_t group = i * 8 + kFirst + g.value;
      typename Dot::W weights[kColumns];
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
        weights[c.value] = Dot::weights(Isa::load_u(column(c.value, unpacked) + group * 64));
      });
      unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
        const auto* q = reinterpret_cast<const int8_t*>(activations + row.value * row_bytes);
        const auto four = load_activation_group<Isa>(q + group * 4);
        unroll<kColumns>(
            [&](auto c) TAKT_INLINE_LAMBDA { dots[row.value][c.value].template add<g.value>(weights[c.value], four); });
      });
    });
    F scales[kColumns];
    unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
      const int64_t offset = unpacked.scale_offset + (i * Layout::kScalesPer32 + (kHalf > 0)) * 64;
      scales[c.value] = Isa::load_f(reinterpret_cast<const float*>(column(c.value, unpacked) + offset));
    });
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      const F activation_scale = Isa::set_f(block(row.value, i).scale);
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
        const auto total = dots[row.value][c.value].total();
        F& sum = sums[row.value][c.value];
        sum = Isa::fma(Isa::to_f(total), Isa::mul(scales[c.value], activation_scale), sum);
      });
    });
  }

  TAKT_INLINE void add_minimums(const UnpackedPanel& unpacked, int64_t i) {
    F minimums[kColumns];
    unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
      minimums[c.value] =
          Isa::load_f(reinterpret_cast<const float*>(column(c.value, unpacked) + unpacked.minimum_offset + i * 64));
    });
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      const F activation_sum = Isa::set_f(block(row.value, i).sum);
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
        sums[row.value][c.value] = Isa::fma(minimums[c.value], activation_sum, sums[row.value][c.value]);
      });
    });
  }

  TAKT_INLINE void run() {
    const UnpackedPanel unpacked = unpacked_panel<Layout>(k);
    unroll<kRows>([&](auto row) TAKT_INLINE_LAMBDA {
      unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA { sums[row.value][c.value] = Isa::set_f(0.0f); });
    });
    for (int64_t i = 0; i < k / 32; ++i) {
      if constexpr (Layout::kScalesPer32 == 2) {
        add_groups<0, 4, 0>(unpacked, i);
        add_groups<4, 4, 1>(unpacked, i);
      } else {
        add_groups<0, 8, -1>(unpacked, i);
      }
      if constexpr (Layout::kHasMinimum) add_minimums(unpacked, i);
    }
  }
};

struct QuantisedOperands {
  const std::byte* activations;  // [m] prepared rows
  int64_t row_bytes;
  int64_t m;
  int64_t n;
  int64_t k;
  float* out;  // [m, out_stride]
  int64_t out_stride;
  // Packed weights that will be unpacked next: the tiles fetch them a share each, so that memory is read while the dots run.
  const uint8_t* next;
  int64_t next_bytes;
};

TAKT_INLINE void fetch_share(const QuantisedOperands& operands, int64_t tile, int64_t tile_count) {
  const int64_t end = operands.next_bytes * (tile + 1) / tile_count;
  for (int64_t at = operands.next_bytes * tile / tile_count; at < end; at += 64)
    __builtin_prefetch(operands.next + at, 0, 2);
}

// Rows [row, row + kRows) × the kColumns column vectors from `column` on, which begin at `lane` of the first unpacked panel.
template <class Isa, class Layout, int kRows, int kColumns>
void run_prefill_tile(const QuantisedOperands& operands, const uint8_t* panels, int lane, int64_t row, int64_t column) {
  PrefillTile<Isa, Layout, kRows, kColumns> tile{
      operands.activations + row * operands.row_bytes, operands.row_bytes, operands.k, panels, lane, {}};
  tile.run();
  unroll<kRows>([&](auto r) TAKT_INLINE_LAMBDA {
    unroll<kColumns>([&](auto c) TAKT_INLINE_LAMBDA {
      const int64_t first = column + c.value * Isa::kLanes;
      store_columns<Isa>(operands.out + (row + r.value) * operands.out_stride + first, tile.sums[r.value][c.value],
                         operands.n - first);
    });
  });
}

// Rows [begin, end) × those columns, in tiles of nearly equal height: from 26 rows on (fewer come here only in tests) that is the full
// height or one less, so that only these two and single rows need code.
template <class Isa, class Layout, int kColumns>
void run_prefill_columns(const QuantisedOperands& operands, const uint8_t* panels, int lane, int64_t column,
                         int64_t begin, int64_t end) {
  constexpr int kFull = Isa::kPrefillTileRows, kLess = kFull > 1 ? kFull - 1 : 1;
  const int64_t m = end - begin, tile_count = (m + kFull - 1) / kFull;
  for (int64_t t = 0; t < tile_count; ++t) {
    const int64_t row = begin + m * t / tile_count, tile_end = begin + m * (t + 1) / tile_count;
    if (tile_end - row == kFull)
      run_prefill_tile<Isa, Layout, kFull, kColumns>(operands, panels, lane, row, column);
    else if (tile_end - row == kLess)
      run_prefill_tile<Isa, Layout, kLess, kColumns>(operands, panels, lane, row, column);
    else
      for (int64_t r = row; r < tile_end; ++r)
        run_prefill_tile<Isa, Layout, 1, kColumns>(operands, panels, lane, r, column);
  }
}

// As many panels as a register tile is wide.
template <class Isa>
constexpr int kPrefillTileLanes = Isa::kPrefillTileColumns* Isa::kLanes;
template <class Isa>
constexpr int kPrefillTilePanels = kPrefillTileLanes<Isa> > 16 ? kPrefillTileLanes<Isa> / 16 : 1;

// A group of unpacked panels and a block of activation rows share the second-level cache (512 KiB on Zen 2 to 4, 1 MiB and more on others)
// with room left for what streams through: each row then comes from further away once a group, and not once a panel.
inline constexpr int64_t kPrefillCacheShare = 192 * 1024;

// Room for two scales and a minimum per 32 weights: what no format exceeds.
constexpr TAKT_INLINE int64_t unpacked_bytes_max(int64_t k) { return k * 16 + k / 32 * (2 * 64 + 64); }

// Panels unpacked at once, a multiple of what a register tile needs. At most four: what a thread claims at a time.
template <class Isa>
constexpr TAKT_INLINE int64_t prefill_group_panels(int64_t k) {
  constexpr int64_t kTile = kPrefillTilePanels<Isa>;
  const int64_t fitting = kPrefillCacheShare / unpacked_bytes_max(k) / kTile * kTile, most = 4 / kTile * kTile;
  return fitting < kTile ? kTile : fitting < most ? fitting : most;
}

// The group of unpacked panels × all rows. `column`: the group's first output.
template <class Isa, class Layout>
void run_prefill_group(const QuantisedOperands& operands, const uint8_t* unpacked, int64_t panels, int64_t column) {
  constexpr int kTileLanes = kPrefillTileLanes<Isa>;
  const int64_t rows_fitting = kPrefillCacheShare / operands.row_bytes,
                rows_most = rows_fitting < 32 ? 32 : rows_fitting;
  const int64_t block_count = (operands.m + rows_most - 1) / rows_most;
  const int64_t lanes = panels * 16, pass_count = block_count * ((lanes + kTileLanes - 1) / kTileLanes);
  int64_t pass = 0;
  for (int64_t b = 0; b < block_count; ++b) {
    const int64_t begin = operands.m * b / block_count, end = operands.m * (b + 1) / block_count;
    int lane = 0;
    for (; lane + kTileLanes <= lanes; lane += kTileLanes) {
      fetch_share(operands, pass++, pass_count);
      run_prefill_columns<Isa, Layout, Isa::kPrefillTileColumns>(operands, unpacked, lane, column + lane, begin, end);
    }
    if constexpr (16 % kTileLanes != 0)  // else a tile is part of a panel
      for (; lane < lanes; lane += Isa::kLanes)
        run_prefill_columns<Isa, Layout, 1>(operands, unpacked, lane, column + lane, begin, end);
  }
}

template <class Isa, base::WeightFormat kFormat>
void prefill_quantised(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                       int64_t panel_end, float* out, int64_t out_stride, std::byte* scratch) {
  using Layout = typename PanelLayout<kFormat>::Arithmetic;
  const PanelGeometry geometry = panel_geometry<kFormat>(weights.k);
  QuantisedOperands operands{activations,
                             static_cast<int64_t>(activation_row_bytes(ActivationKind::q8, weights.k)),
                             m,
                             weights.n,
                             weights.k,
                             out,
                             out_stride,
                             nullptr,
                             0};
  auto* unpacked = reinterpret_cast<uint8_t*>(scratch);
  const int64_t unpacked_bytes = unpacked_panel<Layout>(weights.k).bytes;
  const int64_t group_panels = prefill_group_panels<Isa>(weights.k);
  for (int64_t panel = panel_begin; panel < panel_end; panel += group_panels) {
    const int64_t count = panel_end - panel < group_panels ? panel_end - panel : group_panels;
    for (int64_t i = 0; i < count; ++i)
      unpack_panel<Isa, kFormat>(reinterpret_cast<const uint8_t*>(weights.data + (panel + i) * geometry.panel_bytes),
                                 weights.k, unpacked + i * unpacked_bytes);
    const int64_t left = panel_end - panel - count, next_count = left < group_panels ? left : group_panels;
    operands.next = reinterpret_cast<const uint8_t*>(weights.data + (panel + count) * geometry.panel_bytes);
    operands.next_bytes = next_count * geometry.panel_bytes;
    run_prefill_group<Isa, Layout>(operands, unpacked, count, panel * 16);
  }
}

// Columns of panels [panel, end), rows from `row` on, as many tiles of kRows as fit. Returns the first row left.
template <class Isa, base::WeightFormat kFormat, int kRows, int kColumns>
int64_t prefill_float_tiles(const FloatOperands& operands, int64_t row, int64_t m, int64_t panel, int64_t end) {
  for (; row + kRows <= m; row += kRows) run_float_columns<Isa, kFormat, kRows, kColumns>(operands, row, panel, end);
  return row;
}

template <class Isa, base::WeightFormat kFormat>
void prefill_float(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                   int64_t panel_end, float* out, int64_t out_stride, std::byte*) {
  constexpr int kColumns = Isa::kFloatTileVectors > 1 ? 2 : 1, kFull = Isa::kFloatTileVectors / kColumns;
  constexpr int kThird = kFull >= 6 ? kFull / 3 : 1;
  const FloatOperands operands{weights, reinterpret_cast<const float*>(activations),
                               static_cast<int64_t>(activation_row_bytes(ActivationKind::f32, weights.k)) / 4, out,
                               out_stride};
  for (int64_t panel = panel_begin; panel < panel_end; panel += kColumns) {
    const int64_t end = panel_end - panel < kColumns ? panel_end : panel + kColumns;
    int64_t row = prefill_float_tiles<Isa, kFormat, kFull, kColumns>(operands, 0, m, panel, end);
    row = prefill_float_tiles<Isa, kFormat, kThird, kColumns>(operands, row, m, panel, end);
    prefill_float_tiles<Isa, kFormat, 1, kColumns>(operands, row, m, panel, end);
  }
}

template <class Isa>
void linear_prefill(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                    int64_t panel_end, float* out, int64_t out_stride, std::byte* scratch) {
  using base::WeightFormat;
  static constexpr decltype(&linear_prefill<Isa>) kKernels[base::kWeightFormatCount] = {
      // in the order of WeightFormat
      prefill_float<Isa, WeightFormat::f32>,      prefill_float<Isa, WeightFormat::f16>,
      prefill_float<Isa, WeightFormat::bf16>,     prefill_quantised<Isa, WeightFormat::q4_0>,
      prefill_quantised<Isa, WeightFormat::q4_1>, prefill_quantised<Isa, WeightFormat::q5_0>,
      prefill_quantised<Isa, WeightFormat::q5_1>, prefill_quantised<Isa, WeightFormat::q8_0>,
      prefill_quantised<Isa, WeightFormat::q4_k>, prefill_quantised<Isa, WeightFormat::q5_k>,
      prefill_quantised<Isa, WeightFormat::q6_k>};
  kKernels[static_cast<int>(weights.format)](weights, activations, m, panel_begin, panel_end, out, out_stride, scratch);
}

template <class Isa>
size_t linear_prefill_scratch_bytes(base::WeightFormat format, int64_t k) {
  if (format <= base::WeightFormat::bf16) return 64;  // read where they lie
  return static_cast<size_t>(prefill_group_panels<Isa>(k) * unpacked_bytes_max(k));
}

}  // namespace takt::kernels
