#include "gguf/block_encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace takt::gguf {
namespace {

using base::WeightFormat;

void store_u16(std::byte* out, uint16_t bits) { std::memcpy(out, &bits, sizeof bits); }

// Stores a scale as half and returns the value that a reader will see, so that quants are chosen against it.
float store_half(std::byte* out, float value) {
  const uint16_t bits = base::float_to_half(value);
  store_u16(out, bits);
  return base::half_to_float(bits);
}

float inverse(float scale) { return scale != 0.0f ? 1.0f / scale : 0.0f; }

// The nearest integer (halves away from zero), clamped. A scale that rounded to a subnormal half can make the
// quotient large.
int nearest(float value, int low, int high) {
  const float clamped = std::clamp(value, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>(clamped + (clamped < 0.0f ? -0.5f : 0.5f));
}

// The value of largest magnitude, with its sign.
float extreme(const float* x, int count) {
  float low = 0.0f, high = 0.0f;
  for (int i = 0; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  return -low > high ? low : high;
}

void store_nibbles(const uint8_t q[32], std::byte* out) {
  for (int j = 0; j < 16; ++j) out[j] = static_cast<std::byte>((q[j] & 15) | ((q[j + 16] & 15) << 4));
}

void store_fifth_bits(const uint8_t q[32], std::byte* out) {
  uint32_t high = 0;
  for (int j = 0; j < 32; ++j) high |= static_cast<uint32_t>(q[j] >> 4) << j;
  std::memcpy(out, &high, sizeof high);
}

// Symmetric with `steps` values from -steps/2 to steps/2 - 1: the value of largest magnitude becomes -steps/2 exactly.
void symmetric(const float* x, int steps, std::byte* scale_out, uint8_t q[32]) {
  const float d = store_half(scale_out, extreme(x, 32) / static_cast<float>(-steps / 2));
  const float id = inverse(d);
  for (int j = 0; j < 32; ++j) q[j] = static_cast<uint8_t>(nearest(x[j] * id, -steps / 2, steps / 2 - 1) + steps / 2);
}

// Offset: q from 0 to steps - 1 spans minimum to maximum.
void offset(const float* x, int steps, std::byte* scale_out, std::byte* minimum_out, uint8_t q[32]) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  const float d = store_half(scale_out, (*high - *low) / static_cast<float>(steps - 1));
  const float m = store_half(minimum_out, *low);
  const float id = inverse(d);
  for (int j = 0; j < 32; ++j) q[j] = static_cast<uint8_t>(nearest((x[j] - m) * id, 0, steps - 1));
}

void encode_q4_0(const float* x, std::byte* block) {
  uint8_t q[32];
  symmetric(x, 16, block, q);
  store_nibbles(q, block + 2);
}

void encode_q4_1(const float* x, std::byte* block) {
  uint8_t q[32];
  offset(x, 16, block, block + 2, q);
  store_nibbles(q, block + 4);
}

void encode_q5_0(const float* x, std::byte* block) {
  uint8_t q[32];
  symmetric(x, 32, block, q);
  store_fifth_bits(q, block + 2);
  store_nibbles(q, block + 6);
}

void encode_q5_1(const float* x, std::byte* block) {
  uint8_t q[32];
  offset(x, 32, block, block + 2, q);
  store_fifth_bits(q, block + 4);
  store_nibbles(q, block + 8);
}

void encode_q8_0(const float* x, std::byte* block) {
  const float d = store_half(block, std::fabs(extreme(x, 32)) / 127.0f);
  const float id = inverse(d);
  for (int j = 0; j < 32; ++j) block[2 + j] = static_cast<std::byte>(nearest(x[j] * id, -127, 127));
}

// What Q4_K and Q5_K share: d, dmin and the packed 6-bit scales and minimums, and the quants of all 256 weights.
void k_offset(const float* x, int steps, std::byte* block, uint8_t q[256]) {
  float scales[8],
      minimums[8];  // of each sub-block of 32; the minimum is stored as a subtrahend, so it is not negative
  float scale_max = 0.0f, minimum_max = 0.0f;
  for (int s = 0; s < 8; ++s) {
    const auto [low, high] = std::minmax_element(x + s * 32, x + s * 32 + 32);
    minimums[s] = std::max(0.0f, -*low);
    scales[s] = std::max(0.0f, *high + minimums[s]) / static_cast<float>(steps - 1);
    scale_max = std::max(scale_max, scales[s]);
    minimum_max = std::max(minimum_max, minimums[s]);
  }
  const float d = store_half(block, scale_max / 63.0f), dmin = store_half(block + 2, minimum_max / 63.0f);
  uint8_t packed[12] = {};
  for (int s = 0; s < 8; ++s) {
    const int scale = nearest(scales[s] * inverse(d), 0, 63), minimum = nearest(minimums[s] * inverse(dmin), 0, 63);
    if (s < 4) {
      packed[s] = static_cast<uint8_t>(packed[s] | scale);
      packed[s + 4] = static_cast<uint8_t>(packed[s + 4] | minimum);
    } else {
      packed[s + 4] = static_cast<uint8_t>((scale & 15) | ((minimum & 15) << 4));
      packed[s - 4] = static_cast<uint8_t>(packed[s - 4] | ((scale >> 4) << 6));
      packed[s] = static_cast<uint8_t>(packed[s] | ((minimum >> 4) << 6));
    }
    const float id = inverse(d * static_cast<float>(scale)), m = dmin * static_cast<float>(minimum);
    for (int j = s * 32; j < s * 32 + 32; ++j) q[j] = static_cast<uint8_t>(nearest((x[j] + m) * id, 0, steps - 1));
  }
  std::memcpy(block + 4, packed, sizeof packed);
}

// Sub-blocks 2r and 2r + 1 share 32 bytes: low and high nibbles.
void store_k_nibbles(const uint8_t q[256], std::byte* out) {
  for (int r = 0; r < 4; ++r)
    for (int j = 0; j < 32; ++j)
      out[r * 32 + j] = static_cast<std::byte>((q[r * 64 + j] & 15) | ((q[r * 64 + 32 + j] & 15) << 4));
}

void encode_q4_k(const float* x, std::byte* block) {
  uint8_t q[256];
  k_offset(x, 16, block, q);
  store_k_nibbles(q, block + 16);
}

void encode_q5_k(const float* x, std::byte* block) {
  uint8_t q[256];
  k_offset(x, 32, block, q);
  for (int j = 0; j < 32; ++j) {
    int bits = 0;
    for (int s = 0; s < 8; ++s) bits |= (q[s * 32 + j] >> 4) << s;
    block[16 + j] = static_cast<std::byte>(bits);
  }
  store_k_nibbles(q, block + 48);
}

void encode_q6_k(const float* x, std::byte* block) {
  float scales[16];
  for (int s = 0; s < 16; ++s) scales[s] = extreme(x + s * 16, 16) / -32.0f;
  const float d = store_half(block + 208, std::fabs(extreme(scales, 16)) / 127.0f);
  uint8_t q[256];
  for (int s = 0; s < 16; ++s) {
    const int scale = nearest(scales[s] * inverse(d), -127, 127);
    block[192 + s] = static_cast<std::byte>(scale);
    const float id = inverse(d * static_cast<float>(scale));
    for (int j = s * 16; j < s * 16 + 16; ++j) q[j] = static_cast<uint8_t>(nearest(x[j] * id, -32, 31) + 32);
  }
  // Two halves of 128 weights, each four runs of 32; runs 0 and 2, and 1 and 3, share the bytes of the low nibbles.
  for (int half = 0; half < 2; ++half) {
    const uint8_t* run = q + half * 128;
    for (int j = 0; j < 32; ++j) {
      block[half * 64 + j] = static_cast<std::byte>((run[j] & 15) | ((run[64 + j] & 15) << 4));
      block[half * 64 + 32 + j] = static_cast<std::byte>((run[32 + j] & 15) | ((run[96 + j] & 15) << 4));
      block[128 + half * 32 + j] = static_cast<std::byte>((run[j] >> 4) | ((run[32 + j] >> 4) << 2) |
                                                          ((run[64 + j] >> 4) << 4) | ((run[96 + j] >> 4) << 6));
    }
  }
}

void encode_f32(const float* x, std::byte* block) { std::memcpy(block, x, sizeof *x); }
void encode_f16(const float* x, std::byte* block) { store_u16(block, base::float_to_half(*x)); }
void encode_bf16(const float* x, std::byte* block) { store_u16(block, base::float_to_bf16(*x)); }

template <void (*Encode)(const float*, std::byte*)>
void encode_blocks(WeightFormat format, const float* weights, int64_t weight_count, std::byte* blocks) {
  const int64_t block_weights = base::info(format).block_weights, block_bytes = base::info(format).block_bytes;
  for (int64_t i = 0; i < weight_count; i += block_weights, blocks += block_bytes) Encode(weights + i, blocks);
}

}  // namespace

void encode_row(WeightFormat format, const float* weights, int64_t weight_count, std::byte* blocks) {
  switch (format) {
    case WeightFormat::f32: return encode_blocks<encode_f32>(format, weights, weight_count, blocks);
    case WeightFormat::f16: return encode_blocks<encode_f16>(format, weights, weight_count, blocks);
    case WeightFormat::bf16: return encode_blocks<encode_bf16>(format, weights, weight_count, blocks);
    case WeightFormat::q4_0: return encode_blocks<encode_q4_0>(format, weights, weight_count, blocks);
    case WeightFormat::q4_1: return encode_blocks<encode_q4_1>(format, weights, weight_count, blocks);
    case WeightFormat::q5_0: return encode_blocks<encode_q5_0>(format, weights, weight_count, blocks);
    case WeightFormat::q5_1: return encode_blocks<encode_q5_1>(format, weights, weight_count, blocks);
    case WeightFormat::q8_0: return encode_blocks<encode_q8_0>(format, weights, weight_count, blocks);
    case WeightFormat::q4_k: return encode_blocks<encode_q4_k>(format, weights, weight_count, blocks);
    case WeightFormat::q5_k: return encode_blocks<encode_q5_k>(format, weights, weight_count, blocks);
    case WeightFormat::q6_k: return encode_blocks<encode_q6_k>(format, weights, weight_count, blocks);
  }
}

}  // namespace takt::gguf
