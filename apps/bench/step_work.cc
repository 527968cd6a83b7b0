#include "bench/step_work.h"

#include <algorithm>

#include "engine/forward.h"

namespace takt::apps {
namespace {

using engine::Operation;

// Bytes of a matrix as the kernels read it.
double matrix_bytes(const model::Model& model, const kernels::PackedMatrix& matrix) {
  if (const size_t packed = model.kernel_set->packed_bytes(matrix.format, matrix.n, matrix.k); packed > 0)
    return static_cast<double>(packed);
  const auto& info = base::info(matrix.format);
  return static_cast<double>(matrix.n) * static_cast<double>(matrix.k) / info.block_weights * info.block_bytes;
}

void add_product(const model::Model& model, const model::Matrix& matrix, int64_t rows, int64_t passes, Work& work) {
  const double operations =
      2.0 * static_cast<double>(matrix.packed.n) * static_cast<double>(matrix.packed.k) * static_cast<double>(rows);
  (matrix.activation == kernels::ActivationKind::q8 ? work.int8_operations : work.float_operations) += operations;
  work.bytes += matrix_bytes(model, matrix.packed) * static_cast<double>(passes);
}

// Positions that rows [begin, end) see, added up; a window bounds each row's.
double pairs_of(int64_t begin, int64_t end, int64_t window) {
  const auto triangle = [](double n) { return n * (n + 1) / 2; };
  if (window == 0 || end <= window) return triangle(static_cast<double>(end)) - triangle(static_cast<double>(begin));
  const int64_t full = std::max(begin, window);
  return pairs_of(begin, std::max(begin, std::min(end, window)), 0) +
         static_cast<double>(end - full) * static_cast<double>(window);
}

void add_attention(const model::Model& model, uint32_t layer, const RowRange& range, Work& work) {
  const model::NetworkSpec& spec = model.spec;
  const kernels::AttentionShape shape = model.attention_shape(layer);
  work.float_operations += 4.0 * spec.head_count * spec.head_dim * pairs_of(range.begin, range.end, shape.window);
  const double position_bytes = static_cast<double>(model.kernel_set->kv_page_bytes(shape)) / kernels::kPageTokens;
  // Every block of rows that an attention kernel takes at once reads what its last row sees and its first one's window.
  for (int64_t at = range.begin; at < range.end; at += model.kernel_set->attention_rows_max) {
    const int64_t last = std::min<int64_t>(range.end, at + model.kernel_set->attention_rows_max);
    const int64_t first = shape.window > 0 ? std::max<int64_t>(0, at + 1 - shape.window) : 0;
    work.bytes += position_bytes * static_cast<double>(last - first);
  }
}

// Activations that the other operations read and write, 4 bytes a value; prepared rows as they are stored.
void add_row_traffic(const model::Model& model, double rows, StepWork& work) {
  const model::NetworkSpec& spec = model.spec;
  const double width = spec.embedding_length, hidden = spec.feed_forward_length,
               q = static_cast<double>(spec.head_count) * spec.head_dim,
               kv = static_cast<double>(spec.kv_head_count) * spec.head_dim, layers = spec.layer_count;
  const auto prepared = [&](double k) {
    return static_cast<double>(
        model.kernel_set->activation_row_bytes(kernels::ActivationKind::q8, static_cast<int64_t>(k)));
  };
  work.at(Operation::embed).bytes += rows * 4 * width;
  work.at(Operation::norm_quantise).bytes +=
      rows * layers * (4 * (3 * width + q + 3 * width) + 2 * prepared(width) + prepared(q));
  work.at(Operation::rope_store).bytes += rows * layers * 4 * (2 * q + 3 * kv + kv);
  work.at(Operation::activation).bytes += rows * layers * (4 * 3 * hidden + prepared(hidden));
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  int8_operations += other.int8_operations;
  float_operations += other.float_operations;
  bytes += other.bytes;
  return *this;
}

StepWork& StepWork::operator+=(const StepWork& other) {
  for (size_t i = 0; i < operations.size(); ++i) operations[i] += other.operations[i];
  return *this;
}

Work StepWork::products() const {
  Work sum;
  for (Operation operation : {Operation::qkv, Operation::attention, Operation::attention_out, Operation::gate_up,
                              Operation::down, Operation::logits})
    sum += at(operation);
  return sum;
}

StepWork work_of_step(const model::Model& model, std::span<const RowRange> ranges, int64_t wanted_count) {
  StepWork work;
  int64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.end - range.begin;
  for (uint32_t layer = 0; layer < model.spec.layer_count; ++layer) {
    const model::LayerWeights& weights = model.weights.layers[layer];
    for (const model::Matrix* matrix : {&weights.q, &weights.k, &weights.v})
      add_product(model, *matrix, rows, 1, work.at(Operation::qkv));
    for (const RowRange& range : ranges) add_attention(model, layer, range, work.at(Operation::attention));
    add_product(model, weights.attention_output, rows, 1, work.at(Operation::attention_out));
    for (const model::Matrix* matrix : {&weights.gate, &weights.up})
      add_product(model, *matrix, rows, 1, work.at(Operation::gate_up));
    add_product(model, weights.down, rows, 1, work.at(Operation::down));
  }
  const int64_t passes = (wanted_count + engine::Forward::kLogitsRows - 1) / engine::Forward::kLogitsRows;
  add_product(model, model.weights.output, wanted_count, passes, work.at(Operation::logits));
  work.at(Operation::sampling).bytes += 4.0 * model.spec.vocabulary_size * static_cast<double>(wanted_count);
  add_row_traffic(model, static_cast<double>(rows), work);
  return work;
}

StepWork work_of_prefill(const model::Model& model, int64_t begin, int64_t end, int64_t chunk) {
  StepWork work;
  for (int64_t at = begin; at < end; at += chunk) {
    const RowRange range{at, std::min(end, at + chunk)};
    work += work_of_step(model, {&range, 1}, range.end == end ? 1 : 0);
  }
  return work;
}

StepWork work_of_decode(const model::Model& model, int64_t position, int64_t count) {
  StepWork work;
  for (int64_t i = 0; i < count; ++i) {
    const RowRange range{position + i, position + i + 1};
    work += work_of_step(model, {&range, 1}, 1);
  }
  return work;
}

double mfu_percent(const StepWork& work, double seconds, const Ceilings& ceilings) {
  const Work products = work.products();
  const double ceiling = products.int8_operations > 0 ? ceilings.int8_per_s : ceilings.float_per_s;
  return share_percent((products.int8_operations + products.float_operations) / seconds, ceiling);
}

double mbu_percent(const StepWork& work, double seconds, const Ceilings& ceilings) {
  return share_percent(work.products().bytes / seconds, ceilings.read_bytes_per_s);
}

}  // namespace takt::apps
