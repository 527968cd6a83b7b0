// Random operands for the kernel tests and benchmarks: valid blocks of every weight format, and matrices packed for a set.
#pragma once

#include <cstring>
#include <new>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/kernel_set.h"

namespace takt::kernels::testing {

// 64-byte aligned, as KernelSet asks for.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size)
      : size_(size), data_(static_cast<std::byte*>(::operator new (size + 64, std::align_val_t{64}))) {
    std::memset(data_, 0, size + 64);
  }
  ~AlignedBytes() { ::operator delete (data_, std::align_val_t{64}); }
  AlignedBytes(AlignedBytes&& other) noexcept : size_(other.size_), data_(other.data_) { other.data_ = nullptr; }
  AlignedBytes& operator=(AlignedBytes&&) = delete;
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  std::byte* data_;
};

using Random = std::mt19937;

inline float normal(Random& random, float deviation) {
  return std::normal_distribution<float>(0.0f, deviation)(random);
}

// How a test fills quants and scales: at random, or at an extreme.
enum class Fill { random, all_zero_bits, all_one_bits, alternating };

inline uint8_t filled_byte(Random& random, Fill fill, size_t i) {
  switch (fill) {
    case Fill::random: return static_cast<uint8_t>(random());
    case Fill::all_zero_bits: return 0;
    case Fill::all_one_bits: return 0xff;
    case Fill::alternating: return i % 2 == 0 ? 0x7f : 0x80;
  }
  return 0;
}

// [n, k] in the file's layout. Scales are finite; the weights' standard deviation is about 0.05 with random fill.
inline std::vector<std::byte> random_weights(Random& random, base::WeightFormat format, int64_t n, int64_t k,
                                             Fill fill = Fill::random) {
  using base::WeightFormat;
  const auto& info = base::info(format);
  std::vector<std::byte> out(static_cast<size_t>(n * (k / info.block_weights) * info.block_bytes));
  const auto put_half = [&](size_t at, float value) {
    const uint16_t bits = base::float_to_half(value);
    std::memcpy(&out[at], &bits, sizeof bits);
  };
  const auto scale = [&](float magnitude) { return magnitude * (0.5f + 0.5f * std::abs(normal(random, 1.0f))); };
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(filled_byte(random, fill, i));
  for (size_t at = 0; at < out.size(); at += info.block_bytes) {
    switch (format) {
      case WeightFormat::f32: {
        const float value = normal(random, 0.05f);
        std::memcpy(&out[at], &value, sizeof value);
        break;
      }
      case WeightFormat::f16: put_half(at, normal(random, 0.05f)); break;
      case WeightFormat::bf16: {
        const uint16_t bits = base::float_to_bf16(normal(random, 0.05f));
        std::memcpy(&out[at], &bits, sizeof bits);
        break;
      }
      case WeightFormat::q4_0: put_half(at, scale(0.01f)); break;
      case WeightFormat::q5_0: put_half(at, scale(0.005f)); break;
      case WeightFormat::q8_0: put_half(at, scale(0.0007f)); break;
      case WeightFormat::q4_1: put_half(at, scale(0.01f)), put_half(at + 2, -scale(0.08f)); break;
      case WeightFormat::q5_1: put_half(at, scale(0.005f)), put_half(at + 2, -scale(0.08f)); break;
      case WeightFormat::q4_k: put_half(at, scale(0.0003f)), put_half(at + 2, scale(0.002f)); break;
      case WeightFormat::q5_k: put_half(at, scale(0.00015f)), put_half(at + 2, scale(0.002f)); break;
      case WeightFormat::q6_k: put_half(at + 208, scale(0.00003f)); break;
    }
  }
  return out;
}

inline std::vector<float> random_floats(Random& random, int64_t count, float deviation) {
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random, deviation);
  return out;
}

// A matrix packed for one set.
struct Packed {
  AlignedBytes bytes;
  PackedMatrix matrix;
};

inline Packed pack_for(const KernelSet& set, base::WeightFormat format, const std::vector<std::byte>& rows, int64_t n,
                       int64_t k) {
  const size_t size = set.packed_bytes(format, n, k);
  Packed out{AlignedBytes(size), {format, n, k, rows.data()}};
  if (size > 0) {
    set.pack(format, rows.data(), n, k, 0, panel_count(n), out.bytes.data());
    out.matrix.data = out.bytes.data();
  }
  return out;
}

// [m] prepared rows.
inline AlignedBytes prepare_for(const KernelSet& set, ActivationKind kind, const std::vector<float>& x, int64_t m,
                                int64_t k) {
  const size_t row_bytes = set.activation_row_bytes(kind, k);
  AlignedBytes out(row_bytes * static_cast<size_t>(m));
  for (int64_t row = 0; row < m; ++row)
    set.prepare_activation(kind, x.data() + row * k, k, out.data() + static_cast<size_t>(row) * row_bytes);
  return out;
}

}  // namespace takt::kernels::testing
