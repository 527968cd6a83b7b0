#include "kernels/shared/row_ops_ref.h"

#include <cmath>

namespace takt::kernels {

void rms_norm_ref(const float* x, const float* weight, float eps, int64_t n, float* out) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  const double factor = 1.0 / std::sqrt(sum / static_cast<double>(n) + eps);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(x[i] * factor * weight[i]);
}

void add_ref(const float* x, const float* y, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

void scale_ref(const float* x, float factor, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

void silu_multiply_ref(const float* gate, const float* up, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const double x = gate[i];
    out[i] = static_cast<float>(x / (1.0 + std::exp(-x)) * up[i]);
  }
}

// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))): Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", the tanh form.
void gelu_multiply_ref(const float* gate, const float* up, int64_t n, float* out) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  for (int64_t i = 0; i < n; ++i) {
    const double x = gate[i];
    out[i] = static_cast<float>(0.5 * x * (1.0 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x))) * up[i]);
  }
}

void rope_ref(float* heads, int64_t head_count, int64_t head_dim, int64_t rope_dim, const float* cos, const float* sin,
              RopePairs pairs) {
  const int64_t half = rope_dim / 2;
  for (int64_t head = 0; head < head_count; ++head) {
    float* x = heads + head * head_dim;
    for (int64_t i = 0; i < half; ++i) {
      float& first = pairs == RopePairs::adjacent ? x[2 * i] : x[i];
      float& second = pairs == RopePairs::adjacent ? x[2 * i + 1] : x[i + half];
      const double a = first, b = second;
      first = static_cast<float>(a * cos[i] - b * sin[i]);
      second = static_cast<float>(a * sin[i] + b * cos[i]);
    }
  }
}

}  // namespace takt::kernels
