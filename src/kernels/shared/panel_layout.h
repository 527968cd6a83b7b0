// How a packed matrix lies in memory (all sets but "ref"), chosen so that a vector's lanes are output rows.
//
// The matrix is panels of 16 output rows, one after the other; the last is padded with zero weights. Inside a panel of k inputs:
//
// Float formats: [k][16 rows] values as in the file.
//
// Quantised formats: a scale section, then (at the next multiple of 64 bytes) a quant section.
//   scale section, formats of 32-weight blocks: per block d [16] f16, and m [16] f16 where the format has minimums.
//   scale section, K formats: per super-block of 256 d [16] f16; dmin [16] f16; scales [8][16] bytes; minimums [8][16] bytes
//     (Q6_K: d [16] f16; scales [16][16] signed bytes).
//   quant section: per 32 weights the groups g = 0 … 7 of four consecutive weights, each as a vector of 64 bytes [16 rows][4]:
//     4 bits: vector v = 0 … 3 holds group v in its low and group v + 4 in its high nibbles;
//     5 bits: the same, then a vector of fifth bits: bit g of its bytes belongs to group g;
//     6 bits: the same as 4 bits, then two vectors of upper bit pairs: pair i of vector h belongs to group 4 h + i;
//     8 bits: vector g is group g, as unsigned bytes (value + 128).
//
// That is the file's bits, within 3 %: the K formats' packed 6-bit scales become bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/weight_format.h"
#include "kernels/isa/targets.h"

namespace takt::kernels {

// The canonical form of a quantised format: value = scale × (stored - 2^offset_log2) + minimum.
template <base::WeightFormat kFormat>
struct PanelLayout;

namespace layout {

inline constexpr int kNoOffset = -1;

// What the arithmetic needs to know; formats that agree in it share their code.
template <int kBits_, int kOffsetLog2_, bool kHasMinimum_>
struct Core {
  static constexpr int kBits = kBits_;
  static constexpr int kOffsetLog2 = kOffsetLog2_;
  static constexpr bool kHasMinimum = kHasMinimum_;
  static constexpr int kScalesPer32 = kBits == 6 ? 2 : 1;  // Q6_K has a scale for each 16 weights
};

template <int kBlockWeights_, int kBits_, int kOffsetLog2_, bool kHasMinimum_>
struct Quantised : Core<kBits_, kOffsetLog2_, kHasMinimum_> {
  using Arithmetic = Core<kBits_, kOffsetLog2_, kHasMinimum_>;
  static constexpr int kBlockWeights = kBlockWeights_;
  static constexpr int kSubBlocks = kBlockWeights / 32;
  static constexpr bool kIsK = kBlockWeights == 256;
  static constexpr int kScaleBytes = (kHasMinimum_ ? 64 : 32) + (kIsK ? 256 : 0);  // per block of 16 rows
  static constexpr int kQuantBytes = kBits_ == 4 ? 256 : kBits_ == 5 ? 320 : kBits_ == 6 ? 384 : 512;  // per 32 weights
};

template <int kBytes_>
struct Float {
  static constexpr int kBytes = kBytes_;
};

}  // namespace layout

template <>
struct PanelLayout<base::WeightFormat::f32> : layout::Float<4> {};
template <>
struct PanelLayout<base::WeightFormat::f16> : layout::Float<2> {};
template <>
struct PanelLayout<base::WeightFormat::bf16> : layout::Float<2> {};
template <>
struct PanelLayout<base::WeightFormat::q4_0> : layout::Quantised<32, 4, 3, false> {};
template <>
struct PanelLayout<base::WeightFormat::q4_1> : layout::Quantised<32, 4, layout::kNoOffset, true> {};
template <>
struct PanelLayout<base::WeightFormat::q5_0> : layout::Quantised<32, 5, 4, false> {};
template <>
struct PanelLayout<base::WeightFormat::q5_1> : layout::Quantised<32, 5, layout::kNoOffset, true> {};
template <>
struct PanelLayout<base::WeightFormat::q8_0> : layout::Quantised<32, 8, 7, false> {};
template <>
struct PanelLayout<base::WeightFormat::q4_k> : layout::Quantised<256, 4, layout::kNoOffset, true> {};
template <>
struct PanelLayout<base::WeightFormat::q5_k> : layout::Quantised<256, 5, layout::kNoOffset, true> {};
template <>
struct PanelLayout<base::WeightFormat::q6_k> : layout::Quantised<256, 6, 5, false> {};

constexpr TAKT_INLINE int64_t round_up_64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Where the sections of a panel of k inputs lie. k is a multiple of the format's block.
struct PanelGeometry {
  int64_t scale_bytes = 0;  // scale section, padded; 0 for float formats
  int64_t panel_bytes = 0;
};

template <base::WeightFormat kFormat>
constexpr TAKT_INLINE PanelGeometry panel_geometry(int64_t k) {
  using Layout = PanelLayout<kFormat>;
  if constexpr (requires { Layout::kBytes; }) {
    return {0, round_up_64(k * 16 * Layout::kBytes)};
  } else {
    const int64_t scale_bytes = round_up_64(k / Layout::kBlockWeights * Layout::kScaleBytes);
    return {scale_bytes, scale_bytes + k / 32 * Layout::kQuantBytes};
  }
}

}  // namespace takt::kernels
