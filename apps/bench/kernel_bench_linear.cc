// Linear layers and packing of kernel_bench.h.
#include <algorithm>
#include <cstring>

#include "bench/kernel_bench.h"
#include "bench/kernel_shapes.h"
#include "kernels/shared/test_matrices.h"

namespace takt::apps {
namespace {

using base::WeightFormat;
using kernels::KernelSet;
using kernels::PackedMatrix;
using kernels::testing::AlignedBytes;

constexpr int64_t kRowCounts[] = {1, 2, 4, 8, 16, 32, 64, 512};
// Up to here a pass over the weights is not much more than reading them, so that they must come from memory as in a model. Beyond,
// arithmetic is all there is, and one copy will do.
constexpr int64_t kRowsFromMemory = 64;
constexpr int64_t kPanelsPerClaim = 4;  // as the engine has it for many rows

std::string case_name(WeightFormat format, const LinearShape& shape, int64_t rows) {
  return "linear " + std::string(base::info(format).name) + " " + std::to_string(shape.n) + "x" +
         std::to_string(shape.k) + " rows " + std::to_string(rows);
}

// The models' k, rounded up to whole blocks.
LinearShape rounded(const LinearShape& shape, WeightFormat format) {
  const int64_t block = base::info(format).block_weights;
  return {shape.n, (shape.k + block - 1) / block * block};
}

// One format and shape: weights packed, as many copies as exceed the cache; activations of the largest row count.
class LinearCase {
 public:
  LinearCase(const KernelBench& bench, WeightFormat format, const LinearShape& shape)
      : bench_(bench),
        set_(*bench.set),
        shape_(shape),
        format_(format),
        rows_(kernels::testing::random_weights(random_, format, shape.n, shape.k)),
        floats_(kernels::testing::random_floats(random_, std::ranges::max(kRowCounts) * shape.k, 1.0f)),
        activations_(kernels::testing::prepare_for(set_, set_.activation_kind(format), floats_,
                                                   std::ranges::max(kRowCounts), shape.k)),
        out_(static_cast<size_t>(shape.n * std::ranges::max(kRowCounts))) {
    const size_t packed = set_.packed_bytes(format, shape.n, shape.k);
    copy_bytes_ = packed > 0 ? packed : rows_.size();
    const auto wanted = static_cast<size_t>(2 * bench.roofline->machine.last_cache_bytes());
    const size_t count = std::clamp<size_t>(wanted / copy_bytes_ + 1, 1, 512);
    for (size_t i = 0; i < count; ++i) {
      copies_.emplace_back(copy_bytes_);
      if (packed > 0)
        set_.pack(format, rows_.data(), shape.n, shape.k, 0, kernels::panel_count(shape.n), copies_.back().data());
      else
        std::memcpy(copies_.back().data(), rows_.data(), rows_.size());
    }
    for (int i = 0; i < bench.pool->thread_count(); ++i)
      scratch_.emplace_back(set_.linear_prefill_scratch_bytes(format, shape.k));
  }

  KernelFigure measure(int64_t rows) {
    const size_t copies = rows <= kRowsFromMemory ? copies_.size() : 1;
    const double seconds = best_seconds([&] {
      for (size_t i = 0; i < copies; ++i)
        multiply(set_, {format_, shape_.n, shape_.k, copies_[i].data()}, activations_.data(), rows);
    });
    KernelFigure figure;
    figure.name = case_name(format_, shape_, rows);
    figure.threads = bench_.pool->thread_count();
    figure.seconds = seconds / static_cast<double>(copies);
    figure.operations = 2.0 * static_cast<double>(shape_.n * shape_.k * rows);
    figure.bytes = static_cast<double>(copy_bytes_);
    set_share(bench_, set_.activation_kind(format_) == kernels::ActivationKind::q8 ? Bound::int8 : Bound::f32,
              Bound::memory, figure);
    figure.times_reference = figure.operations_per_s() / reference_operations_per_s();
    return figure;
  }

 private:
  // As the engine calls the kernels.
  void multiply(const KernelSet& set, const PackedMatrix& matrix, const std::byte* activations, int64_t rows) {
    const int64_t panels = kernels::panel_count(matrix.n);
    if (rows <= set.decode_rows_max)
      return bench_.pool->split(panels, [&](int64_t begin, int64_t end, int) {
        set.linear_decode(matrix, activations, rows, begin, end, out_.data(), matrix.n);
      });
    bench_.pool->each((panels + kPanelsPerClaim - 1) / kPanelsPerClaim, [&](int64_t claim, int thread) {
      set.linear_prefill(matrix, activations, rows, claim * kPanelsPerClaim,
                         std::min(panels, (claim + 1) * kPanelsPerClaim), out_.data(), matrix.n,
                         scratch_[static_cast<size_t>(thread)].data());
    });
  }

  // The reference takes row after row, so that one row says it all.
  double reference_operations_per_s() {
    if (reference_ == 0) {
      const KernelSet& reference = *kernels::select_kernel_set("ref");
      const auto packed = kernels::testing::pack_for(reference, format_, rows_, shape_.n, shape_.k);
      const AlignedBytes one =
          kernels::testing::prepare_for(reference, reference.activation_kind(format_), floats_, 1, shape_.k);
      const double seconds = best_seconds([&] { multiply(reference, packed.matrix, one.data(), 1); }, 0);
      reference_ = 2.0 * static_cast<double>(shape_.n * shape_.k) / seconds;
    }
    return reference_;
  }

  const KernelBench& bench_;
  const KernelSet& set_;
  LinearShape shape_;
  WeightFormat format_;
  kernels::testing::Random random_{2};
  std::vector<std::byte> rows_;
  std::vector<float> floats_;
  AlignedBytes activations_;
  std::vector<float> out_;
  size_t copy_bytes_ = 0;
  std::vector<AlignedBytes> copies_;
  std::vector<AlignedBytes> scratch_;
  double reference_ = 0;
};

}  // namespace

void measure_linear(const KernelBench& bench) {
  for (int i = 0; i < base::kWeightFormatCount; ++i) {
    const auto format = static_cast<WeightFormat>(i);
    for (const LinearShape& named : kLinearShapes) {
      const LinearShape shape = rounded(named, format);
      const auto is_wanted = [&](int64_t rows) { return bench.is_wanted(case_name(format, shape, rows)); };
      if (std::ranges::none_of(kRowCounts, is_wanted)) continue;
      LinearCase linear(bench, format, shape);
      for (int64_t rows : kRowCounts)
        if (is_wanted(rows)) bench.on_figure(linear.measure(rows));
    }
  }
}

void measure_packing(const KernelBench& bench) {
  const KernelSet& set = *bench.set;
  kernels::testing::Random random(4);
  for (int i = 0; i < base::kWeightFormatCount; ++i) {
    const auto format = static_cast<WeightFormat>(i);
    constexpr LinearShape kShape{4864, 1536};
    KernelFigure figure;
    figure.name = "pack " + std::string(base::info(format).name);
    const size_t packed = set.packed_bytes(format, kShape.n, kShape.k);
    if (!bench.is_wanted(figure.name) || packed == 0) continue;
    const auto rows = kernels::testing::random_weights(random, format, kShape.n, kShape.k);
    AlignedBytes out(packed);
    figure.seconds = best_seconds(
        [&] { set.pack(format, rows.data(), kShape.n, kShape.k, 0, kernels::panel_count(kShape.n), out.data()); });
    figure.bytes = static_cast<double>(rows.size());
    set_share(bench, Bound::int8, Bound::memory, figure);
    bench.on_figure(figure);
  }
}

}  // namespace takt::apps
