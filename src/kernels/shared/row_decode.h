// From stored weight blocks to float32: the plain definition of what each format means. It is the reference that
// every faster path is compared with, and it serves embedding look-ups and repacking.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/weight_format.h"

namespace takt::kernels {

// Decodes `weight_count` weights to out[weight_count]. Bit-exact with the dequantisation of the `gguf` Python package
// (for NaN scales: NaN, the payload is not defined). Preconditions: weight_count is a non-negative multiple of
// info(format).block_weights, `blocks` holds weight_count / block_weights × block_bytes bytes (no alignment needed),
// and out does not overlap blocks.
void decode_row(base::WeightFormat format, const std::byte* blocks, int64_t weight_count, float* out);

// The eight 6-bit scales and eight 6-bit minimums that a Q4_K or Q5_K block packs into 12 bytes: number j < 4 is the
// low six bits of byte j (scale) and j + 4 (minimum); number j >= 4 has its low four bits in byte j + 4 (scale low
// nibble, minimum high nibble) and its upper two bits on top of byte j - 4 (scale) and j (minimum).
void unpack_k_scales(const std::byte* packed, uint8_t scales[8], uint8_t minimums[8]);

}  // namespace takt::kernels
