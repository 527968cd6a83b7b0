#include "engine/forward.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace takt::engine {
namespace {

// Panels a thread claims at a time in products of many rows: long enough to hide the claim, short enough to balance two threads of
// which one lost its core for a while.
constexpr int64_t kPanelsPerClaim = 4;
// Attention items a thread when few decode rows are split: so that the last one to end is a quarter of a share late at most.
constexpr int64_t kItemsPerThread = 4;

float* floats(const model::Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

}  // namespace

base::Result<std::unique_ptr<Forward>> Forward::create(std::shared_ptr<const model::Model> model,
                                                       base::ThreadPool& pool, int64_t rows_max) {
  std::unique_ptr<Forward> forward(new Forward(std::move(model), pool, rows_max));
  if (auto status = forward->allocate(); !status) return status.error();
  return forward;
}

Forward::Forward(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, int64_t rows_max)
    : model_(std::move(model)),
      kernels_(*model_->kernel_set),
      spec_(model_->spec),
      pool_(pool),
      rows_max_(rows_max),
      q_width_(int64_t{spec_.head_count} * spec_.head_dim),
      kv_width_(int64_t{spec_.kv_head_count} * spec_.head_dim),
      k_max_(std::max({int64_t{spec_.embedding_length}, q_width_, int64_t{spec_.feed_forward_length}})),
      rope_(spec_.rope, spec_.rope_dim, model_->weights.rope_factors),
      rope_window_(spec_.rope_window, spec_.rope_dim, model_->weights.rope_factors) {}

base::Status Forward::allocate() {
  const auto make = [](model::Buffer& buffer, int64_t bytes) -> base::Status {
    auto allocated = model::Buffer::allocate(static_cast<size_t>(bytes));
    if (!allocated) return allocated.error();
    buffer = std::move(allocated).value();
    return {};
  };
  const auto make_rows = [&](model::Buffer& buffer, int64_t width) { return make(buffer, rows_max_ * width * 4); };
  const int64_t logits_rows = std::min(rows_max_, kLogitsRows);
  for (auto status :
       {make_rows(x_, spec_.embedding_length), make_rows(q_, q_width_), make_rows(k_, kv_width_),
        make_rows(v_, kv_width_), make_rows(attention_, q_width_), make_rows(gate_, spec_.feed_forward_length),
        make_rows(up_, spec_.feed_forward_length), make_rows(delta_, spec_.embedding_length),
        make(logits_, logits_rows * int64_t{spec_.vocabulary_size} * 4)})
    if (!status) return status;
  for (auto kind : {kernels::ActivationKind::f32, kernels::ActivationKind::q8}) {
    const auto row_bytes = static_cast<int64_t>(kernels_.activation_row_bytes(kind, k_max_));
    if (auto status = make(prepared_[static_cast<size_t>(kind)], rows_max_ * row_bytes); !status) return status;
  }
  size_t kernel_bytes = 64;
  for (uint32_t layer = 0; layer < spec_.layer_count; ++layer)
    kernel_bytes = std::max(kernel_bytes, kernels_.attention_scratch_bytes(model_->attention_shape(layer)));
  for (int format = 0; format < base::kWeightFormatCount; ++format)
    kernel_bytes =
        std::max(kernel_bytes, kernels_.linear_prefill_scratch_bytes(static_cast<base::WeightFormat>(format), k_max_));
  row_scratch_.resize(static_cast<size_t>(pool_.thread_count()));
  kernel_scratch_.resize(static_cast<size_t>(pool_.thread_count()));
  for (auto& scratch : row_scratch_)
    if (auto status = make(scratch, k_max_ * 4); !status) return status;
  for (auto& scratch : kernel_scratch_)
    if (auto status = make(scratch, static_cast<int64_t>(kernel_bytes)); !status) return status;
  return {};
}

void Forward::run(std::span<const contract::TokenId> tokens, std::span<const Segment> segments,
                  std::span<const int64_t> wanted, const LogitsSink& sink) {
  const auto rows = static_cast<int64_t>(tokens.size());
  assert(rows > 0 && rows <= rows_max_);
  plan_rows(segments, rows);
  plan_attention(segments);
  embed(tokens);
  did(Operation::embed);
  for (uint32_t layer = 0; layer < spec_.layer_count; ++layer) {
    attention_block(layer, rows);
    feed_forward_block(layer, rows);
  }
  output_logits(wanted, sink);
}

void Forward::plan_rows(std::span<const Segment> segments, int64_t rows) {
  places_.clear();
  int64_t position_end = 0;
  for (const Segment& segment : segments) {
    assert(segment.first_row == static_cast<int64_t>(places_.size()));
    for (int64_t i = 0; i < segment.row_count; ++i) places_.push_back({segment.pages, segment.position_begin + i});
    position_end = std::max(position_end, segment.position_begin + segment.row_count);
    assert(static_cast<int64_t>(segment.pages->ids.size()) * kernels::kPageTokens >=
           segment.position_begin + segment.row_count);
  }
  assert(static_cast<int64_t>(places_.size()) == rows);
  (void)rows;
  rope_.extend(position_end);
  if (spec_.window > 0) rope_window_.extend(position_end);
}

void Forward::plan_attention(std::span<const Segment> segments) {
  items_.clear();
  const int64_t block = kernels_.attention_rows_max;
  for (const Segment& segment : segments)
    for (int64_t offset = 0; offset < segment.row_count; offset += block)
      for (int32_t kv_head = 0; kv_head < static_cast<int32_t>(spec_.kv_head_count); ++kv_head)
        items_.push_back({&segment, offset, std::min(block, segment.row_count - offset), kv_head});
  // Costly items (late positions, many rows) first, so that the threads end together.
  std::stable_sort(items_.begin(), items_.end(), [](const AttentionItem& a, const AttentionItem& b) {
    return (a.segment->position_begin + a.row_offset) * a.row_count >
           (b.segment->position_begin + b.row_offset) * b.row_count;
  });
  plan_spans();
}

// A step of few decode rows has few items, one a kv head: long rows are cut at spans so that each thread gets kItemsPerThread. The bits do
// not depend on it.
void Forward::plan_spans() {
  span_items_.clear();
  split_items_.clear();
  const auto wanted = static_cast<int64_t>(pool_.thread_count()) * kItemsPerThread,
             count = static_cast<int64_t>(items_.size());
  if (kernels_.attention_decode_spans == nullptr || pool_.thread_count() == 1 || count >= wanted) return;
  const int64_t state_floats = kernels::span_state_floats(spec_.attention_shape(0, model_->kv));
  int64_t floats_used = 0;
  for (const AttentionItem& item : items_) {
    const int64_t position = item.segment->position_begin + item.row_offset,
                  spans = position / (kernels::kPageTokens * kernels::kSpanTiles) + 1;
    if (item.segment->phase != contract::Phase::decode || item.row_count != 1 || spans == 1) {
      span_items_.push_back(item);
      continue;
    }
    const int64_t parts = std::min(spans, (wanted + count - 1) / count);
    AttentionItem part = item;
    part.states = floats_used;
    for (int64_t i = 0; i < parts; ++i) {
      part.span_begin = spans * i / parts;
      part.span_end = spans * (i + 1) / parts;
      span_items_.push_back(part);
    }
    split_items_.push_back(part);  // its span_end is the row's
    floats_used += spans * state_floats;
  }
  if (split_items_.empty()) span_items_.clear();
  if (span_states_.size() < static_cast<size_t>(floats_used)) span_states_.resize(static_cast<size_t>(floats_used));
}

void Forward::embed(std::span<const contract::TokenId> tokens) {
  for_rows(static_cast<int64_t>(tokens.size()), [&](int64_t row, int) {
    float* x = floats(x_) + row * spec_.embedding_length;
    model_->weights.embedding.read_row(tokens[static_cast<size_t>(row)], x);
    if (spec_.embedding_scale != 1.0f) kernels_.scale(x, spec_.embedding_scale, spec_.embedding_length, x);
  });
}

std::byte* Forward::activation_row(kernels::ActivationKind kind, int64_t k, int64_t row) {
  return prepared_[static_cast<size_t>(kind)].data() +
         static_cast<size_t>(row) * kernels_.activation_row_bytes(kind, k);
}

void Forward::prepare(const float* values, int64_t k, int64_t row, std::span<const LinearTask> tasks) {
  for (auto kind : {kernels::ActivationKind::f32, kernels::ActivationKind::q8}) {
    const bool is_needed = std::any_of(tasks.begin(), tasks.end(),
                                       [&](const LinearTask& task) { return task.matrix->activation == kind; });
    if (is_needed) kernels_.prepare_activation(kind, values, k, activation_row(kind, k, row));
  }
}

void Forward::norm_and_prepare(const float* x, const std::vector<float>& norm, int64_t row, int thread,
                               std::span<const LinearTask> tasks) {
  float* normed = floats(row_scratch_[static_cast<size_t>(thread)]);
  kernels_.rms_norm(x, norm.data(), spec_.norm_eps, spec_.embedding_length, normed);
  prepare(normed, spec_.embedding_length, row, tasks);
}

void Forward::linear(std::span<const LinearTask> tasks, int64_t rows) {
  int64_t panels = 0;
  for (const LinearTask& task : tasks) panels += kernels::panel_count(task.matrix->packed.n);
  const bool is_decode = rows <= kernels_.decode_rows_max;
  // Panels of all tasks are numbered through; [begin, end) may span several matrices.
  const auto work = [&](int64_t begin, int64_t end, int thread) {
    for (const LinearTask& task : tasks) {
      const kernels::PackedMatrix& weights = task.matrix->packed;
      const int64_t count = kernels::panel_count(weights.n);
      const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, count);
      if (first < last) {
        const std::byte* activations = activation_row(task.matrix->activation, weights.k, 0);
        if (is_decode)
          kernels_.linear_decode(weights, activations, rows, first, last, task.out, task.out_stride);
        else
          kernels_.linear_prefill(weights, activations, rows, first, last, task.out, task.out_stride,
                                  kernel_scratch_[static_cast<size_t>(thread)].data());
      }
      begin -= count;
      end -= count;
    }
  };
  if (is_decode) return pool_.split(panels, work);
  pool_.each((panels + kPanelsPerClaim - 1) / kPanelsPerClaim, [&](int64_t claim, int thread) {
    work(claim * kPanelsPerClaim, std::min(panels, (claim + 1) * kPanelsPerClaim), thread);
  });
}

void Forward::add_to_residual(const float* values, const std::vector<float>& bias, const std::vector<float>& post_norm,
                              int64_t row, int thread) {
  const int64_t width = spec_.embedding_length;
  float* x = floats(x_) + row * width;
  float* scratch = floats(row_scratch_[static_cast<size_t>(thread)]);
  if (!bias.empty()) {
    kernels_.add(values, bias.data(), width, scratch);
    values = scratch;
  }
  if (!post_norm.empty()) {
    kernels_.rms_norm(values, post_norm.data(), spec_.norm_eps, width, scratch);
    values = scratch;
  }
  kernels_.add(x, values, width, x);
}

void Forward::rope_and_store(uint32_t layer, int64_t row) {
  const model::LayerWeights& weights = model_->weights.layers[layer];
  const int64_t head_dim = spec_.head_dim;
  float* q = floats(q_) + row * q_width_;
  float* k = floats(k_) + row * kv_width_;
  float* v = floats(v_) + row * kv_width_;
  if (!weights.q_bias.empty()) kernels_.add(q, weights.q_bias.data(), q_width_, q);
  if (!weights.k_bias.empty()) kernels_.add(k, weights.k_bias.data(), kv_width_, k);
  if (!weights.v_bias.empty()) kernels_.add(v, weights.v_bias.data(), kv_width_, v);
  if (spec_.has_qk_norm) {
    for (int64_t head = 0; head < spec_.head_count; ++head)
      kernels_.rms_norm(q + head * head_dim, weights.q_norm.data(), spec_.norm_eps, head_dim, q + head * head_dim);
    for (int64_t head = 0; head < spec_.kv_head_count; ++head)
      kernels_.rms_norm(k + head * head_dim, weights.k_norm.data(), spec_.norm_eps, head_dim, k + head * head_dim);
  }
  const RowPlace& place = places_[static_cast<size_t>(row)];
  const RopeTable& rope = spec_.layer_is_window[layer] ? rope_window_ : rope_;
  const float* cos = rope.cos(place.position);
  const float* sin = rope.sin(place.position);
  kernels_.rope(q, spec_.head_count, head_dim, spec_.rope_dim, cos, sin, spec_.rope_pairs);
  kernels_.rope(k, spec_.kv_head_count, head_dim, spec_.rope_dim, cos, sin, spec_.rope_pairs);
  std::byte* page = place.pages->layers[layer][static_cast<size_t>(place.position / kernels::kPageTokens)];
  kernels_.kv_store(model_->attention_shape(layer), k, v, static_cast<int32_t>(place.position % kernels::kPageTokens),
                    page);
}

void Forward::attend_item(const kernels::AttentionShape& shape, uint32_t layer, const AttentionItem& item, int thread) {
  const Segment& segment = *item.segment;
  const int64_t row = segment.first_row + item.row_offset, position = segment.position_begin + item.row_offset;
  const std::byte* const* pages = segment.pages->layers[layer].data();
  std::byte* scratch = kernel_scratch_[static_cast<size_t>(thread)].data();
  const float* q = floats(q_) + row * q_width_;
  float* out = floats(attention_) + row * q_width_;
  if (item.span_end > item.span_begin) {
    float* states = span_states_.data() + item.states + item.span_begin * kernels::span_state_floats(shape);
    kernels_.attention_decode_spans(shape, item.kv_head, q, position, pages, item.span_begin, item.span_end, states,
                                    scratch);
  } else if (segment.phase == contract::Phase::decode && item.row_count == 1) {
    kernels_.attention_decode(shape, item.kv_head, q, position, pages, out, scratch);
  } else {
    kernels_.attention_prefill(shape, item.kv_head, q, q_width_, position, item.row_count, pages, out, q_width_,
                               scratch);
  }
}

void Forward::merge_spans(const kernels::AttentionShape& shape, const AttentionItem& item) {
  float* out = floats(attention_) + (item.segment->first_row + item.row_offset) * q_width_;
  kernels_.attention_merge_spans(shape, item.kv_head, span_states_.data() + item.states, item.span_end, out);
}

void Forward::attend(uint32_t layer) {
  const kernels::AttentionShape shape = model_->attention_shape(layer);
  const bool is_split = shape.window == 0 && !span_items_.empty();
  const std::vector<AttentionItem>& items = is_split ? span_items_ : items_;
  pool_.each(static_cast<int64_t>(items.size()),
             [&](int64_t index, int thread) { attend_item(shape, layer, items[static_cast<size_t>(index)], thread); });
  // On this thread: a merge reads 1 / 512 of what the items read, less than a fork costs.
  if (is_split)
    for (const AttentionItem& item : split_items_) merge_spans(shape, item);
}

void Forward::attention_block(uint32_t layer, int64_t rows) {
  const model::LayerWeights& weights = model_->weights.layers[layer];
  const LinearTask qkv[] = {
      {&weights.q, floats(q_), q_width_}, {&weights.k, floats(k_), kv_width_}, {&weights.v, floats(v_), kv_width_}};
  for_rows(rows, [&](int64_t row, int thread) {
    norm_and_prepare(floats(x_) + row * spec_.embedding_length, weights.attention_norm, row, thread, qkv);
  });
  did(Operation::norm_quantise);
  linear(qkv, rows);
  did(Operation::qkv);
  for_rows(rows, [&](int64_t row, int) { rope_and_store(layer, row); });
  did(Operation::rope_store);
  attend(layer);
  did(Operation::attention);
  const LinearTask output[] = {{&weights.attention_output, floats(delta_), spec_.embedding_length}};
  for_rows(rows, [&](int64_t row, int) { prepare(floats(attention_) + row * q_width_, q_width_, row, output); });
  did(Operation::norm_quantise);
  linear(output, rows);
  did(Operation::attention_out);
}

void Forward::feed_forward_block(uint32_t layer, int64_t rows) {
  const model::LayerWeights& weights = model_->weights.layers[layer];
  const int64_t width = spec_.embedding_length, hidden = spec_.feed_forward_length;
  const LinearTask gate_up[] = {{&weights.gate, floats(gate_), hidden}, {&weights.up, floats(up_), hidden}};
  for_rows(rows, [&](int64_t row, int thread) {
    add_to_residual(floats(delta_) + row * width, weights.attention_output_bias, weights.post_attention_norm, row,
                    thread);
    norm_and_prepare(floats(x_) + row * width, weights.feed_forward_norm, row, thread, gate_up);
  });
  did(Operation::norm_quantise);
  linear(gate_up, rows);
  did(Operation::gate_up);
  const LinearTask down[] = {{&weights.down, floats(delta_), width}};
  const auto multiply =
      spec_.activation == model::FeedForwardActivation::silu ? kernels_.silu_multiply : kernels_.gelu_multiply;
  for_rows(rows, [&](int64_t row, int) {
    float* gate = floats(gate_) + row * hidden;
    multiply(gate, floats(up_) + row * hidden, hidden, gate);
    prepare(gate, hidden, row, down);
  });
  did(Operation::activation);
  linear(down, rows);
  did(Operation::down);
  for_rows(rows, [&](int64_t row, int thread) {
    add_to_residual(floats(delta_) + row * width, {}, weights.post_feed_forward_norm, row, thread);
  });
  did(Operation::norm_quantise);
}

void Forward::output_logits(std::span<const int64_t> wanted, const LogitsSink& sink) {
  const int64_t vocabulary = spec_.vocabulary_size;
  const LinearTask output[] = {{&model_->weights.output, floats(logits_), vocabulary}};
  const auto count = static_cast<int64_t>(wanted.size());
  for (int64_t begin = 0; begin < count; begin += kLogitsRows) {
    const int64_t rows = std::min(kLogitsRows, count - begin);
    for_rows(rows, [&](int64_t row, int thread) {
      const float* x = floats(x_) + wanted[static_cast<size_t>(begin + row)] * spec_.embedding_length;
      norm_and_prepare(x, model_->weights.output_norm, row, thread, output);
    });
    did(Operation::norm_quantise);
    linear(output, rows);
    did(Operation::logits);
    for (int64_t row = 0; row < rows; ++row) {
      std::span<float> logits(floats(logits_) + row * vocabulary, static_cast<size_t>(vocabulary));
      if (spec_.logit_softcap > 0)
        for (float& logit : logits) logit = spec_.logit_softcap * std::tanh(logit / spec_.logit_softcap);
      sink(static_cast<size_t>(begin + row), logits);
    }
    did(Operation::sampling);
  }
}

}  // namespace takt::engine
