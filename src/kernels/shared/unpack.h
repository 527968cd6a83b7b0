// Reading packed panels (shared/panel_layout.h) as vectors. A "column vector" is Isa::kLanes output rows of a panel: the whole
// panel, or for narrower sets a part of it that starts at row `lane`.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/activation.h"
#include "kernels/shared/panel_layout.h"

namespace takt::kernels {

// Group kGroup of four weights out of the quants of a sub-block of 32, as stored (unsigned, with the format's offset).
template <class Isa, base::WeightFormat kFormat, int kGroup>
TAKT_INLINE typename Isa::U unpack_group(const uint8_t* quants, int lane) {
  constexpr int kBits = PanelLayout<kFormat>::kBits;
  if constexpr (kBits == 8) {
    return Isa::load_u(quants + kGroup * 64 + lane * 4);
  } else {
    const auto both = Isa::load_u(quants + kGroup % 4 * 64 + lane * 4);
    const auto nibbles = kGroup < 4 ? Isa::low_nibbles(both) : Isa::high_nibbles(both);
    if constexpr (kBits == 5) {
      return Isa::template add_fifth<kGroup>(nibbles, Isa::load_u(quants + 256 + lane * 4));
    } else if constexpr (kBits == 6) {
      return Isa::template add_pair<kGroup % 4>(nibbles, Isa::load_u(quants + 256 + kGroup / 4 * 64 + lane * 4));
    } else {
      return nibbles;
    }
  }
}

// The scales and minimums of one block (32 or 256 weights) of a column vector, in float32. K formats: f32(d) × f32(scale) and
// −(f32(dmin) × f32(minimum)), both exact.
template <class Isa, base::WeightFormat kFormat>
struct BlockScales {
  using Layout = PanelLayout<kFormat>;
  using F = typename Isa::F;
  const uint8_t* bytes;
  F d, m;

  TAKT_INLINE BlockScales(const uint8_t* block_scales, int lane) : bytes(block_scales + lane) {
    d = Isa::load_f16(block_scales + lane * 2);
    if constexpr (Layout::kHasMinimum) m = Isa::load_f16(block_scales + 32 + lane * 2);
  }
  // Of sub-block `sub`; Q6_K: of its half `half`.
  TAKT_INLINE F scale(int sub, int half) const {
    if constexpr (!Layout::kIsK)
      return d;
    else if constexpr (Layout::kBits == 6)
      return Isa::mul(d, Isa::to_f(Isa::load_i8(bytes + 32 + (sub * 2 + half) * 16)));
    else
      return Isa::mul(d, Isa::to_f(Isa::load_u8(bytes + 64 + sub * 16)));
  }
  TAKT_INLINE F minimum(int sub) const {
    if constexpr (!Layout::kIsK)
      return m;
    else
      return Isa::sub(Isa::set_f(0.0f), Isa::mul(m, Isa::to_f(Isa::load_u8(bytes + 192 + sub * 16))));
  }
};

// Four activations as the bytes of every lane.
template <class Isa>
TAKT_INLINE typename Isa::I load_activation_group(const int8_t* q) {
  int32_t four;
  __builtin_memcpy(&four, q, sizeof four);
  return Isa::set_i(four);
}

// −2^offset × (sum of the activations), in the form in which the dot product of a block with an offset starts. kHalf: 0, 1 of two
// scales a block; -1: the whole block.
template <class Isa, class Layout, class Dot, int kHalf>
TAKT_INLINE typename Isa::I first_sum(const ActivationBlock& block) {
  if constexpr (Layout::kOffsetLog2 < 0 || !Dot::kIsUnsigned) {
    return Isa::set_i(0);
  } else {
    auto sums = Isa::set_i(kHalf == 1 ? block.negated_sums_high : block.negated_sums);
    if constexpr (kHalf == 0) sums = Isa::sub_i16(sums, Isa::set_i(block.negated_sums_high));
    return Dot::first_sum(sums);
  }
}

// Stores the first `count` lanes (all, when there are fewer).
template <class Isa>
TAKT_INLINE void store_columns(float* out, typename Isa::F x, int64_t count) {
  if (count >= Isa::kLanes)
    Isa::store_f(out, x);
  else if (count > 0)
    Isa::store_f(out, x, count);
}

}  // namespace takt::kernels
