// One pass of rows through the network: embedding, blocks, logits of the rows that want them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "contract/ids.h"
#include "contract/request.h"
#include "engine/kv_memory.h"
#include "engine/rope_table.h"
#include "engine/step_observer.h"
#include "model/model.h"

namespace takt::engine {

// Consecutive rows of one sequence, at positions position_begin, position_begin + 1, …
struct Segment {
  int64_t first_row = 0;
  int64_t row_count = 0;
  int64_t position_begin = 0;
  const PageTable* pages = nullptr;  // holds the pages of every position up to the last row's
  contract::Phase phase = contract::Phase::prefill;
};

class Forward {
 public:
  // Rows whose logits are computed together: bounds the logits' memory (16 × 262,144 × 4 bytes = 16 MiB at the largest vocabulary)
  // while the output matrix is read once for all decode rows of a usual step.
  static constexpr int64_t kLogitsRows = 16;

  // rows_max: the most rows of one run. Errors: out_of_memory.
  static base::Result<std::unique_ptr<Forward>> create(std::shared_ptr<const model::Model> model,
                                                       base::ThreadPool& pool, int64_t rows_max);

  // Called once for each wanted row, in order; may change the logits.
  using LogitsSink = std::function<void(size_t index, std::span<float> logits)>;

  // tokens [rows]: valid ids. Segments cover all rows. Writes K and V of every row, then computes. wanted: row numbers, ascending.
  void run(std::span<const contract::TokenId> tokens, std::span<const Segment> segments,
           std::span<const int64_t> wanted, const LogitsSink& sink);

  // Told of every operation of the runs from now on; null: nobody is.
  void observe(StepObserver* observer) { observer_ = observer; }

 private:
  // A row's place in its sequence.
  struct RowPlace {
    const PageTable* pages;
    int64_t position;
  };
  // One call of an attention kernel.
  struct AttentionItem {
    const Segment* segment;
    int64_t row_offset;  // inside the segment
    int64_t row_count;
    int32_t kv_head;
    // A part of a long decode row: its spans, and where in span_states_ the states of the row's first span are. 0 spans: all at once.
    int64_t span_begin = 0, span_end = 0;
    int64_t states = 0;
  };
  struct LinearTask {
    const model::Matrix* matrix;
    float* out;
    int64_t out_stride;
  };

  Forward(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, int64_t rows_max);
  base::Status allocate();
  void plan_rows(std::span<const Segment> segments, int64_t rows);
  void plan_attention(std::span<const Segment> segments);
  void plan_spans();
  void attend_item(const kernels::AttentionShape& shape, uint32_t layer, const AttentionItem& item, int thread);
  void merge_spans(const kernels::AttentionShape& shape, const AttentionItem& item);
  void embed(std::span<const contract::TokenId> tokens);
  void attention_block(uint32_t layer, int64_t rows);
  void rope_and_store(uint32_t layer, int64_t row);
  void attend(uint32_t layer);
  void feed_forward_block(uint32_t layer, int64_t rows);
  void output_logits(std::span<const int64_t> wanted, const LogitsSink& sink);
  // Norm of x's row, prepared for the products with `tasks`.
  void norm_and_prepare(const float* x, const std::vector<float>& norm, int64_t row, int thread,
                        std::span<const LinearTask> tasks);
  void prepare(const float* values, int64_t k, int64_t row, std::span<const LinearTask> tasks);
  void add_to_residual(const float* values, const std::vector<float>& bias, const std::vector<float>& post_norm,
                       int64_t row, int thread);
  void linear(std::span<const LinearTask> tasks, int64_t rows);
  void did(Operation operation) {
    if (observer_ != nullptr) observer_->on_end(operation);
  }
  std::byte* activation_row(kernels::ActivationKind kind, int64_t k, int64_t row);

  // Runs job(row, thread) for each row: on this thread when there is only one, since a fork costs more than a row's work.
  template <class F>
  void for_rows(int64_t rows, F&& job) {
    if (rows == 1) return job(int64_t{0}, 0);
    pool_.split(rows, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t row = begin; row < end; ++row) job(row, thread);
    });
  }

  std::shared_ptr<const model::Model> model_;
  const kernels::KernelSet& kernels_;
  const model::NetworkSpec& spec_;
  base::ThreadPool& pool_;
  StepObserver* observer_ = nullptr;
  int64_t rows_max_;
  int64_t q_width_, kv_width_, k_max_;
  RopeTable rope_, rope_window_;
  std::vector<RowPlace> places_;
  std::vector<AttentionItem> items_;  // whole rows
  std::vector<AttentionItem>
      span_items_;  // the same for layers without a window, long decode rows in parts; empty: as items_
  std::vector<AttentionItem> split_items_;  // those of items_ that span_items_ has in parts
  std::vector<float> span_states_;
  // [rows_max, …], 64-byte aligned rows.
  model::Buffer x_, q_, k_, v_, attention_, gate_, up_, delta_, logits_;
  model::Buffer prepared_[2];                  // by ActivationKind
  std::vector<model::Buffer> row_scratch_;     // per thread: one row of the widest kind
  std::vector<model::Buffer> kernel_scratch_;  // per thread
};

}  // namespace takt::engine
