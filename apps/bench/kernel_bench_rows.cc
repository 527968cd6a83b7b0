// Attention and row operations of kernel_bench.h.
#include <algorithm>

#include "bench/kernel_bench.h"
#include "bench/kernel_shapes.h"
#include "kernels/shared/test_matrices.h"

namespace takt::apps {
namespace {

using kernels::AttentionShape;
using kernels::KernelSet;
using kernels::testing::AlignedBytes;
using kernels::testing::random_floats;

constexpr int64_t kDepths[] = {512, 4096};
constexpr int64_t kWidths[] = {576, 896, 1536, 4864};

// Keys and values of `depth` positions in a set's pages, and queries for the last of them.
class AttentionCase {
 public:
  AttentionCase(const KernelSet& set, const AttentionShape& shape, int64_t depth)
      : set_(set),
        shape_(shape),
        depth_(depth),
        page_bytes_(set.kv_page_bytes(shape)),
        pages_(page_bytes_ * static_cast<size_t>(depth / kernels::kPageTokens)),
        q_(random_floats(random_, std::max(1, set.attention_rows_max) * row(), 1.0f)),
        out_(q_.size()),
        scratch_(set.attention_scratch_bytes(shape)) {
    const auto kv = random_floats(random_, int64_t{shape.kv_head_count} * shape.head_dim, 1.0f);
    for (int64_t position = 0; position < depth; ++position) {
      std::byte* page = pages_.data() + static_cast<size_t>(position / kernels::kPageTokens) * page_bytes_;
      set.kv_store(shape, kv.data(), kv.data(), static_cast<int32_t>(position % kernels::kPageTokens), page);
      if (position % kernels::kPageTokens == 0) pointers_.push_back(page);
    }
  }

  int64_t row() const { return int64_t{shape_.head_count} * shape_.head_dim; }
  double bytes() const { return static_cast<double>(pages_.size()); }
  // Of `rows` queries at the end.
  double operations(int64_t rows) const {
    const double seen = static_cast<double>(rows) * static_cast<double>(depth_ - rows) +
                        static_cast<double>(rows) * static_cast<double>(rows + 1) / 2;
    return 4.0 * static_cast<double>(row()) * seen;
  }
  void decode() {
    for (int32_t head = 0; head < shape_.kv_head_count; ++head)
      set_.attention_decode(shape_, head, q_.data(), depth_ - 1, pointers_.data(), out_.data(), scratch_.data());
  }
  void prefill(int64_t rows) {
    for (int32_t head = 0; head < shape_.kv_head_count; ++head)
      set_.attention_prefill(shape_, head, q_.data(), row(), depth_ - rows, rows, pointers_.data(), out_.data(), row(),
                             scratch_.data());
  }

 private:
  const KernelSet& set_;
  AttentionShape shape_;
  int64_t depth_;
  kernels::testing::Random random_{3};
  size_t page_bytes_;
  AlignedBytes pages_;
  std::vector<float> q_, out_;
  AlignedBytes scratch_;
  std::vector<const std::byte*> pointers_;
};

void measure_attention_at(const KernelBench& bench, const NamedAttentionShape& named, int64_t depth) {
  const KernelSet& reference = *kernels::select_kernel_set("ref");
  const std::string place = std::string(" ") + named.model + " depth " + std::to_string(depth);
  const int64_t block = bench.set->attention_rows_max;
  for (const bool is_decode : {true, false}) {
    KernelFigure figure;
    const int64_t rows = is_decode ? 1 : block;
    figure.name = (is_decode ? "attention decode" : "attention prefill") + place + " rows " + std::to_string(rows);
    if (!bench.is_wanted(figure.name)) continue;
    AttentionCase attention(*bench.set, named.shape, depth), slow(reference, named.shape, depth);
    figure.operations = attention.operations(rows);
    figure.bytes = attention.bytes();
    figure.seconds = best_seconds([&] { is_decode ? attention.decode() : attention.prefill(rows); });
    const double reference_seconds = best_seconds([&] { slow.decode(); }, 0);
    set_share(bench, Bound::f32, Bound::memory, figure);
    figure.times_reference = figure.operations_per_s() / (slow.operations(1) / reference_seconds);
    bench.on_figure(figure);
  }
}

struct RowOperation {
  const char* name;
  double bytes_per_value;  // read and written
  void (*run)(const KernelSet& set, const float* x, const float* y, int64_t n, float* out);
};

void prepare_q8(const KernelSet& set, const float* x, const float*, int64_t n, float* out) {
  set.prepare_activation(kernels::ActivationKind::q8, x, n, reinterpret_cast<std::byte*>(out));
}
void prepare_f32(const KernelSet& set, const float* x, const float*, int64_t n, float* out) {
  set.prepare_activation(kernels::ActivationKind::f32, x, n, reinterpret_cast<std::byte*>(out));
}
void rms_norm(const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  set.rms_norm(x, y, 1e-5f, n, out);
}
void add(const KernelSet& set, const float* x, const float* y, int64_t n, float* out) { set.add(x, y, n, out); }
void scale(const KernelSet& set, const float* x, const float*, int64_t n, float* out) { set.scale(x, 1.5f, n, out); }
void silu_multiply(const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  set.silu_multiply(x, y, n, out);
}
void gelu_multiply(const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  set.gelu_multiply(x, y, n, out);
}
void rope(const KernelSet& set, const float*, const float* y, int64_t n, float* out) {
  set.rope(out, n / 64, 64, 64, y, y + 32, kernels::RopePairs::halves);
}
void kv_store(const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  AttentionShape shape;
  shape.head_count = shape.kv_head_count = static_cast<int32_t>(n / 64);
  shape.head_dim = 64;
  set.kv_store(shape, x, y, 7, reinterpret_cast<std::byte*>(out));
}

constexpr RowOperation kRowOperations[] = {
    {"prepare q8", 4 + 1 + 0.5, prepare_q8},
    {"prepare f32", 8, prepare_f32},
    {"rms_norm", 12, rms_norm},
    {"add", 12, add},
    {"scale", 8, scale},
    {"silu_multiply", 12, silu_multiply},
    {"gelu_multiply", 12, gelu_multiply},
    {"rope", 8, rope},
    {"kv_store", 12, kv_store},
};

}  // namespace

void measure_attention(const KernelBench& bench) {
  for (const NamedAttentionShape& named : kAttentionShapes)
    for (int64_t depth : kDepths) measure_attention_at(bench, named, depth);
}

void measure_row_operations(const KernelBench& bench) {
  constexpr int kCalls = 1000;  // of one run: a call takes less than a clock's reading
  const KernelSet& reference = *kernels::select_kernel_set("ref");
  kernels::testing::Random random(5);
  for (const RowOperation& operation : kRowOperations)
    for (int64_t width : kWidths) {
      KernelFigure figure;
      figure.name = std::string(operation.name) + " " + std::to_string(width);
      if (!bench.is_wanted(figure.name)) continue;
      const auto x = random_floats(random, width, 1.0f), y = random_floats(random, width, 1.0f);
      AlignedBytes out(static_cast<size_t>(width) * 4 * 4 *
                       kernels::kPageTokens);  // a page of keys and values, at most
      const auto time = [&](const KernelSet& set, int calls) {
        return best_seconds(
                   [&] {
                     for (int i = 0; i < calls; ++i)
                       operation.run(set, x.data(), y.data(), width, reinterpret_cast<float*>(out.data()));
                   },
                   0.003) /
               calls;
      };
      figure.seconds = time(*bench.set, kCalls);
      figure.bytes = operation.bytes_per_value * static_cast<double>(width);
      set_share(bench, Bound::f32, Bound::cache, figure);
      figure.times_reference = time(reference, kCalls / 10) / figure.seconds;
      bench.on_figure(figure);
    }
}

}  // namespace takt::apps
