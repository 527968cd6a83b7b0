// Set "ref": linear layers on float32 activations with exactly decoded weights. The rows of the file are read in place.
#pragma once

#include "kernels/kernel_set.h"

namespace takt::kernels {

size_t activation_row_bytes_ref(ActivationKind kind, int64_t k);
void prepare_activation_ref(ActivationKind kind, const float* x, int64_t k, std::byte* out);

// See KernelSet::linear_decode; any m >= 1. Each weight row is decoded once and used for all m activation rows.
void linear_ref(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                int64_t panel_end, float* out, int64_t out_stride);

}  // namespace takt::kernels
