// From float32 to stored weight blocks: the inverse of what kernels/shared/row_decode.h defines. Simple and sound,
// not the best quantiser there is: it serves synthetic models and tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/weight_format.h"

namespace takt::gguf {

// Encodes weights[weight_count]. Each block is scaled to its own largest magnitude (Q4_0, Q5_0, Q8_0, Q6_K) or to its
// range (Q4_1, Q5_1, Q4_K, Q5_K); the error of a weight is about half a step of its block, plus the rounding of the
// stored scales. The result is the same on every machine. Preconditions: weight_count is a non-negative multiple of
// the format's block_weights; weights are finite and below 65504 × 8 in magnitude (scales are stored as half);
// `blocks` holds weight_count / block_weights × block_bytes bytes.
void encode_row(base::WeightFormat format, const float* weights, int64_t weight_count, std::byte* blocks);

}  // namespace takt::gguf
