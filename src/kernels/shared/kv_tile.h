// A page's keys and values of one kv head as the attention kernels work on them, in every format: widened once, used by all rows and
// all heads of the group. Floats as float32; codes as 16-bit integers in pairs, whose products an instruction sums by twos.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/kv_page.h"

namespace takt::kernels {

// Keys, or values, of one tile. The inner dimension is what a sum runs over (keys: the head's dimensions; values: the 32 positions),
// lanes are the other one.
struct KvOperand {
  bool is_coded;
  const float* floats;   // not coded: [inner][lanes]
  const int16_t* codes;  // coded: [inner / 2][lanes][2]
  const float* scales;   // coded: [32 positions]
};

struct KvTile {
  KvOperand keys;
  KvOperand values;
};

// Bytes that widen_tile() needs for one of the two.
constexpr TAKT_INLINE int64_t widened_bytes(int64_t head_dim) {
  return (kPageTokens * head_dim + kPageTokens) * static_cast<int64_t>(sizeof(float));
}

template <class Isa>
TAKT_INLINE void widen_halves(base::KvFormat format, const std::byte* from, int64_t count, float* to) {
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  if (format == base::KvFormat::bf16)
    for (int64_t i = 0; i < count; i += Isa::kLanes) Isa::store_f(to + i, Isa::load_bf16(halves + i));
  else
    for (int64_t i = 0; i < count; i += Isa::kLanes) Isa::store_f(to + i, Isa::load_f16(halves + i));
}

template <class Isa>
TAKT_INLINE void widen_bytes(const std::byte* from, int64_t count, int16_t* to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < count; i += 2 * Isa::kLanes) Isa::store_i(to + i, Isa::widen_i8(bytes + i));
}

// [16][head_dim / 2][2] bytes -> [16][head_dim][2] levels
template <class Isa>
TAKT_INLINE void widen_nibbles(const std::byte* from, int64_t head_dim, int16_t* to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  for (int64_t pair = 0; pair < kPageTokens / 2; ++pair, bytes += head_dim, to += 2 * head_dim)
    for (int64_t i = 0; i < head_dim; i += 2 * Isa::kLanes) {
      typename Isa::I low, high;
      Isa::widen_nibbles(bytes + i, kQ4Table, low, high);
      Isa::store_i(to + i, low);
      Isa::store_i(to + head_dim + i, high);
    }
}

// `data` and `scales` in a page of `format` -> float32 or 16-bit integers in `to` (64-byte aligned, widened_bytes()).
template <class Isa>
TAKT_INLINE KvOperand widen(base::KvFormat format, const std::byte* data, const std::byte* scales, int64_t head_dim,
                            std::byte* to) {
  const int64_t count = kPageTokens * head_dim;
  auto* floats = reinterpret_cast<float*>(to);
  if (!has_codes(format)) {
    widen_halves<Isa>(format, data, count, floats);
    return {false, floats, nullptr, nullptr};
  }
  for (int64_t i = 0; i < kPageTokens; i += Isa::kLanes)
    Isa::store_f(floats + i, Isa::load_f16(reinterpret_cast<const uint16_t*>(scales) + i));
  auto* codes = reinterpret_cast<int16_t*>(floats + kPageTokens);
  if (format == base::KvFormat::q8_0)
    widen_bytes<Isa>(data, count, codes);
  else
    widen_nibbles<Isa>(data, head_dim, codes);
  return {true, nullptr, codes, floats};
}

// page: the layer's; scratch: 2 × widened_bytes(), 64-byte aligned.
template <class Isa>
TAKT_INLINE KvTile widen_tile(const AttentionShape& shape, int32_t kv_head, const std::byte* page, std::byte* scratch) {
  const KvHeadLayout layout = kv_head_layout(shape);
  const std::byte* head = page + kv_head * layout.bytes;
  return {widen<Isa>(shape.key_format, head, head + layout.key_scales, shape.head_dim, scratch),
          widen<Isa>(shape.value_format, head + layout.values, head + layout.value_scales, shape.head_dim,
                     scratch + widened_bytes(shape.head_dim))};
}

}  // namespace takt::kernels
