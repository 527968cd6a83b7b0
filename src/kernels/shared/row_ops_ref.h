// Set "ref": the row operations in double precision, rounded once at the end. See KernelSet for what each computes.
#pragma once

#include "kernels/kernel_set.h"

namespace takt::kernels {

void rms_norm_ref(const float* x, const float* weight, float eps, int64_t n, float* out);
void add_ref(const float* x, const float* y, int64_t n, float* out);
void scale_ref(const float* x, float factor, int64_t n, float* out);
void silu_multiply_ref(const float* gate, const float* up, int64_t n, float* out);
void gelu_multiply_ref(const float* gate, const float* up, int64_t n, float* out);
void rope_ref(float* heads, int64_t head_count, int64_t head_dim, int64_t rope_dim, const float* cos, const float* sin,
              RopePairs pairs);

}  // namespace takt::kernels
