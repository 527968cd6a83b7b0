#include "kernels/shared/row_decode.h"

#include <cstring>

#include "base/half.h"

namespace takt::kernels {
namespace {

using base::WeightFormat;

uint8_t byte_at(const std::byte* bytes, int index) { return static_cast<uint8_t>(bytes[index]); }

// Files are little-endian; assembling from bytes makes the host's order irrelevant.
uint16_t u16_at(const std::byte* bytes) { return static_cast<uint16_t>(byte_at(bytes, 0) | (byte_at(bytes, 1) << 8)); }

uint32_t u32_at(const std::byte* bytes) {
  return static_cast<uint32_t>(u16_at(bytes)) | (static_cast<uint32_t>(u16_at(bytes + 2)) << 16);
}

float half_at(const std::byte* bytes) { return base::half_to_float(u16_at(bytes)); }

// Each decode_<format> turns one block into its 32 or 256 weights. In the 32-weight formats the low nibbles are
// weights 0…15 and the high nibbles 16…31.

// f16 scale, 16 bytes of nibbles: (q - 8) · d
void decode_q4_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (int j = 0; j < 16; ++j) {
    const int q = byte_at(block, 2 + j);
    out[j] = d * static_cast<float>((q & 15) - 8);
    out[j + 16] = d * static_cast<float>((q >> 4) - 8);
  }
}

// f16 scale, f16 minimum, 16 bytes of nibbles: q · d + m
void decode_q4_1(const std::byte* block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int j = 0; j < 16; ++j) {
    const int q = byte_at(block, 4 + j);
    out[j] = d * static_cast<float>(q & 15) + m;
    out[j + 16] = d * static_cast<float>(q >> 4) + m;
  }
}

// f16 scale, 32 fifth bits (bit i for weight i), 16 bytes of nibbles: (q - 16) · d
void decode_q5_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  const uint32_t high = u32_at(block + 2);
  for (int j = 0; j < 16; ++j) {
    const int q = byte_at(block, 6 + j);
    const int high_0 = static_cast<int>((high >> j) & 1u) << 4, high_1 = static_cast<int>((high >> (j + 16)) & 1u) << 4;
    out[j] = d * static_cast<float>(((q & 15) | high_0) - 16);
    out[j + 16] = d * static_cast<float>(((q >> 4) | high_1) - 16);
  }
}

// f16 scale, f16 minimum, 32 fifth bits, 16 bytes of nibbles: q · d + m
void decode_q5_1(const std::byte* block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint32_t high = u32_at(block + 4);
  for (int j = 0; j < 16; ++j) {
    const int q = byte_at(block, 8 + j);
    const int high_0 = static_cast<int>((high >> j) & 1u) << 4, high_1 = static_cast<int>((high >> (j + 16)) & 1u) << 4;
    out[j] = d * static_cast<float>((q & 15) | high_0) + m;
    out[j + 16] = d * static_cast<float>((q >> 4) | high_1) + m;
  }
}

// f16 scale, 32 signed bytes
void decode_q8_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<int8_t>(block[2 + j])) * d;
}

// f16 d, f16 dmin, 12 bytes of 6-bit scales and minimums, 128 bytes of nibbles. Sub-block s of 32 weights:
// q · (d · scale) - dmin · minimum; each run of 32 bytes holds sub-block 2r in its low and 2r + 1 in its high nibbles.
void decode_q4_k(const std::byte* block, float* out) {
  const float d = half_at(block), dmin = half_at(block + 2);
  uint8_t scales[8], minimums[8];
  unpack_k_scales(block + 4, scales, minimums);
  for (int sub = 0; sub < 8; ++sub) {
    const float scale = d * static_cast<float>(scales[sub]), minimum = dmin * static_cast<float>(minimums[sub]);
    const std::byte* nibbles = block + 16 + (sub / 2) * 32;
    const int shift = (sub % 2) * 4;
    for (int j = 0; j < 32; ++j) {
      const int q = (byte_at(nibbles, j) >> shift) & 15;
      out[sub * 32 + j] = scale * static_cast<float>(q) - minimum;
    }
  }
}

// As Q4_K, with 32 bytes of fifth bits between the scales and the nibbles: bit s of byte j belongs to weight j of
// sub-block s.
void decode_q5_k(const std::byte* block, float* out) {
  const float d = half_at(block), dmin = half_at(block + 2);
  uint8_t scales[8], minimums[8];
  unpack_k_scales(block + 4, scales, minimums);
  for (int sub = 0; sub < 8; ++sub) {
    const float scale = d * static_cast<float>(scales[sub]), minimum = dmin * static_cast<float>(minimums[sub]);
    const std::byte* nibbles = block + 48 + (sub / 2) * 32;
    const int shift = (sub % 2) * 4;
    for (int j = 0; j < 32; ++j) {
      const int high = (byte_at(block, 16 + j) >> sub) & 1;
      const int q = ((byte_at(nibbles, j) >> shift) & 15) | (high << 4);
      out[sub * 32 + j] = scale * static_cast<float>(q) - minimum;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 signed scales (one for 16 weights), f16 d: (q - 32) · (d
// · scale). The block is two halves of 128 weights, each four runs of 32: run r takes the nibbles of bytes (r % 2) ·
// 32 … + 31, low ones for r < 2, and the bit pair r of each upper byte.
void decode_q6_k(const std::byte* block, float* out) {
  const float d = half_at(block + 208);
  for (int run = 0; run < 8; ++run) {
    const int half = run / 4, within = run % 4;
    const std::byte* low = block + half * 64 + (within % 2) * 32;
    const std::byte* high = block + 128 + half * 32;
    for (int j = 0; j < 32; ++j) {
      const auto stored = static_cast<int8_t>(block[192 + run * 2 + j / 16]);
      const float scale = d * static_cast<float>(stored);
      const int q = ((byte_at(low, j) >> (within / 2 * 4)) & 15) | (((byte_at(high, j) >> (within * 2)) & 3) << 4);
      out[run * 32 + j] = scale * static_cast<float>(q - 32);
    }
  }
}

void decode_f32(const std::byte* block, float* out) {
  const uint32_t bits = u32_at(block);
  std::memcpy(out, &bits, sizeof bits);
}
void decode_f16(const std::byte* block, float* out) { *out = half_at(block); }
void decode_bf16(const std::byte* block, float* out) { *out = base::bf16_to_float(u16_at(block)); }

template <void (*Decode)(const std::byte*, float*)>
void decode_blocks(WeightFormat format, const std::byte* blocks, int64_t weight_count, float* out) {
  const int64_t block_weights = base::info(format).block_weights, block_bytes = base::info(format).block_bytes;
  for (int64_t i = 0; i < weight_count; i += block_weights, blocks += block_bytes) Decode(blocks, out + i);
}

}  // namespace

void unpack_k_scales(const std::byte* packed, uint8_t scales[8], uint8_t minimums[8]) {
  for (int j = 0; j < 4; ++j) {
    const int scale = byte_at(packed, j), minimum = byte_at(packed, j + 4), both = byte_at(packed, j + 8);
    scales[j] = static_cast<uint8_t>(scale & 63);
    minimums[j] = static_cast<uint8_t>(minimum & 63);
    scales[j + 4] = static_cast<uint8_t>((both & 15) | ((scale >> 6) << 4));
    minimums[j + 4] = static_cast<uint8_t>((both >> 4) | ((minimum >> 6) << 4));
  }
}

void decode_row(WeightFormat format, const std::byte* blocks, int64_t weight_count, float* out) {
  switch (format) {
    case WeightFormat::f32: return decode_blocks<decode_f32>(format, blocks, weight_count, out);
    case WeightFormat::f16: return decode_blocks<decode_f16>(format, blocks, weight_count, out);
    case WeightFormat::bf16: return decode_blocks<decode_bf16>(format, blocks, weight_count, out);
    case WeightFormat::q4_0: return decode_blocks<decode_q4_0>(format, blocks, weight_count, out);
    case WeightFormat::q4_1: return decode_blocks<decode_q4_1>(format, blocks, weight_count, out);
    case WeightFormat::q5_0: return decode_blocks<decode_q5_0>(format, blocks, weight_count, out);
    case WeightFormat::q5_1: return decode_blocks<decode_q5_1>(format, blocks, weight_count, out);
    case WeightFormat::q8_0: return decode_blocks<decode_q8_0>(format, blocks, weight_count, out);
    case WeightFormat::q4_k: return decode_blocks<decode_q4_k>(format, blocks, weight_count, out);
    case WeightFormat::q5_k: return decode_blocks<decode_q5_k>(format, blocks, weight_count, out);
    case WeightFormat::q6_k: return decode_blocks<decode_q6_k>(format, blocks, weight_count, out);
  }
}

}  // namespace takt::kernels
