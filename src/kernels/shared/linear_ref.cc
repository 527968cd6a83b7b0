#include "kernels/shared/linear_ref.h"

#include <algorithm>
#include <cstring>

#include "kernels/shared/row_decode.h"

namespace takt::kernels {
namespace {

// Partial sums per output: float32 sums of length k / 16 and then a tree keep the error near 1e-7 of the operands' norms, and
// sixteen independent chains let a compiler use vectors without reordering anything.
constexpr int64_t kLanes = 16;

int64_t padded(int64_t k) { return (k + kLanes - 1) / kLanes * kLanes; }

float sum_lanes(float* lanes) {
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

// Rows activation rows at once against one weight row, so that its values are loaded once. x: rows of padded(k) values.
template <int Rows>
void dot_rows(const float* weight, const float* x, int64_t k_padded, float* out, int64_t out_stride) {
  float lanes[Rows][kLanes] = {};
  for (int64_t i = 0; i < k_padded; i += kLanes)
    for (int row = 0; row < Rows; ++row)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[row][lane] += weight[i + lane] * x[row * k_padded + i + lane];
  for (int row = 0; row < Rows; ++row) out[row * out_stride] = sum_lanes(lanes[row]);
}

}  // namespace

size_t activation_row_bytes_ref(ActivationKind, int64_t k) { return static_cast<size_t>(padded(k)) * sizeof(float); }

void prepare_activation_ref(ActivationKind, const float* x, int64_t k, std::byte* out) {
  std::memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
  std::memset(out + k * 4, 0, static_cast<size_t>(padded(k) - k) * sizeof(float));
}

void linear_ref(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                int64_t panel_end, float* out, int64_t out_stride) {
  const auto& format = base::info(weights.format);
  const int64_t row_bytes = weights.k / format.block_weights * format.block_bytes;
  const int64_t k_padded = padded(weights.k);
  static thread_local std::vector<float> weight;
  weight.assign(static_cast<size_t>(k_padded), 0.0f);
  const auto* x = reinterpret_cast<const float*>(activations);
  const int64_t col_end = std::min(weights.n, panel_end * kPanelRows);
  for (int64_t col = panel_begin * kPanelRows; col < col_end; ++col) {
    decode_row(weights.format, weights.data + col * row_bytes, weights.k, weight.data());
    int64_t row = 0;
    for (; row + 4 <= m; row += 4)
      dot_rows<4>(weight.data(), x + row * k_padded, k_padded, out + row * out_stride + col, out_stride);
    for (; row < m; ++row)
      dot_rows<1>(weight.data(), x + row * k_padded, k_padded, out + row * out_stride + col, out_stride);
  }
}

}  // namespace takt::kernels
