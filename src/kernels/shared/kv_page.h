// One layer's page of keys and values (all sets but "ref"): per kv head the keys, the keys' scales, the values, the values' scales.
//   keys    f16, bf16: [head_dim][32 positions], the layout that scores want with one lane a key
//           q8_0:      [head_dim / 2][32 positions][2 dimensions] bytes
//   values  f16, bf16: [32 positions][head_dim]
//           q8_0:      [16 pairs of positions][head_dim][2 positions] bytes
//           q4:        [16][head_dim / 2][2] bytes: the low half dimension i, the high half dimension i + head_dim / 2, so that
//                      positions, which threads may write at the same time, share no byte
//   scales  binary16 [32], of q8_0 and q4 only
// How values become codes: shared/kv_code.h.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/canonical.h"
#include "kernels/shared/kv_code.h"

namespace takt::kernels {

constexpr TAKT_INLINE bool has_codes(base::KvFormat format) {
  return format == base::KvFormat::q8_0 || format == base::KvFormat::q4;
}

// Bytes of 32 vectors without their scales.
constexpr TAKT_INLINE int64_t kv_data_bytes(base::KvFormat format, int64_t head_dim) {
  return kPageTokens * head_dim * (format == base::KvFormat::q8_0 ? 2 : format == base::KvFormat::q4 ? 1 : 4) / 2;
}

constexpr TAKT_INLINE int64_t kv_scale_bytes(base::KvFormat format) { return has_codes(format) ? kPageTokens * 2 : 0; }

// Where the parts of one kv head lie in its share of the page, in bytes.
struct KvHeadLayout {
  int64_t key_scales, values, value_scales, bytes;
};

constexpr TAKT_INLINE KvHeadLayout kv_head_layout(const AttentionShape& shape) {
  KvHeadLayout layout{};
  layout.key_scales = kv_data_bytes(shape.key_format, shape.head_dim);
  layout.values = layout.key_scales + kv_scale_bytes(shape.key_format);
  layout.value_scales = layout.values + kv_data_bytes(shape.value_format, shape.head_dim);
  layout.bytes = layout.value_scales + kv_scale_bytes(shape.value_format);
  return layout;
}

// Rounds to bfloat16, ties to even; finite values stay finite, NaN stays NaN.
TAKT_INLINE uint16_t bounded_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  if (magnitude > 0x7f7f0000u) return static_cast<uint16_t>((bits >> 31 << 15) | 0x7f7fu);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// out[i] = x[i] within ±65504, the largest binary16; NaN stays NaN: see Isa::max.
template <class Isa>
TAKT_INLINE void bound_head(const float* x, int64_t n, float* out) {
  const auto largest = Isa::set_f(65504.0f), smallest = Isa::set_f(-65504.0f);
  for (int64_t i = 0; i < n; i += Isa::kLanes)
    Isa::store_f(out + i, Isa::min(largest, Isa::max(smallest, Isa::load_f(x + i))));
}

// One head vector x [head_dim] as 16-bit floats.
template <class Isa>
TAKT_INLINE void to_halves(base::KvFormat format, const float* x, int64_t n, uint16_t* halves) {
  if (format == base::KvFormat::bf16) {
    for (int64_t i = 0; i < n; ++i) halves[i] = bounded_bf16(x[i]);
    return;
  }
  float bounded[kHeadDimMax];
  bound_head<Isa>(x, n, bounded);
  for (int64_t i = 0; i < n; i += Isa::kLanes) Isa::store_f16(halves + i, Isa::load_f(bounded + i));
}

// One head vector as codes and a scale.
template <class Isa>
TAKT_INLINE HalfScale to_codes(base::KvFormat format, const float* x, int64_t n, int8_t* codes) {
  float rotated[kHeadDimMax];
  bound_head<Isa>(x, n, rotated);
  rotate_head<Isa>(rotated, n);
  return format == base::KvFormat::q4 ? encode_q4<Isa>(rotated, n, codes) : encode_q8<Isa>(rotated, n, codes);
}

template <class Isa>
TAKT_INLINE void store_key(const AttentionShape& shape, const float* key, int32_t slot, std::byte* head) {
  const int64_t dim = shape.head_dim;
  if (!has_codes(shape.key_format)) {
    uint16_t halves[kHeadDimMax];
    to_halves<Isa>(shape.key_format, key, dim, halves);
    auto* keys = reinterpret_cast<uint16_t*>(head);
    for (int64_t i = 0; i < dim; ++i) keys[i * kPageTokens + slot] = halves[i];
    return;
  }
  int8_t codes[kHeadDimMax];
  const HalfScale scale = to_codes<Isa>(shape.key_format, key, dim, codes);
  reinterpret_cast<uint16_t*>(head + kv_head_layout(shape).key_scales)[slot] = scale.bits;
  auto* keys = reinterpret_cast<int8_t*>(head) + slot * 2;
  for (int64_t i = 0; i < dim; i += 2) __builtin_memcpy(keys + i * kPageTokens, codes + i, 2);
}

template <class Isa>
TAKT_INLINE void store_value(const AttentionShape& shape, const float* value, int32_t slot, std::byte* head) {
  const int64_t dim = shape.head_dim;
  const KvHeadLayout layout = kv_head_layout(shape);
  if (!has_codes(shape.value_format))
    return to_halves<Isa>(shape.value_format, value, dim,
                          reinterpret_cast<uint16_t*>(head + layout.values) + slot * dim);
  int8_t codes[kHeadDimMax];
  const HalfScale scale = to_codes<Isa>(shape.value_format, value, dim, codes);
  reinterpret_cast<uint16_t*>(head + layout.value_scales)[slot] = scale.bits;
  const bool is_q4 = shape.value_format == base::KvFormat::q4;
  const int64_t half = dim / 2, row = is_q4 ? dim : 2 * dim;
  auto* values = reinterpret_cast<uint8_t*>(head + layout.values) + slot / 2 * row + slot % 2;
  if (is_q4)
    for (int64_t i = 0; i < half; ++i) values[2 * i] = static_cast<uint8_t>(codes[i] | (codes[i + half] << 4));
  else
    for (int64_t i = 0; i < dim; ++i) values[2 * i] = static_cast<uint8_t>(codes[i]);
}

template <class Isa>
void kv_store(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page) {
  const int64_t head_bytes = kv_head_layout(shape).bytes;
  for (int64_t head = 0; head < shape.kv_head_count; ++head) {
    store_key<Isa>(shape, key + head * shape.head_dim, slot, page + head * head_bytes);
    store_value<Isa>(shape, value + head * shape.head_dim, slot, page + head * head_bytes);
  }
}

}  // namespace takt::kernels
