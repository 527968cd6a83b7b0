// The CPU engine: executes step plans on a model. Owns the KV bytes and each request's tokens; decides what each token is and
// whether it ends its request.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"
#include "contract/engine_port.h"
#include "contract/step_plan.h"
#include "engine/forward.h"
#include "engine/kv_memory.h"
#include "engine/sampler.h"
#include "model/model.h"

namespace takt::engine {

struct EngineOptions {
  uint32_t page_count = 0;    // KV pages
  int64_t step_rows_max = 0;  // the most rows (prompt tokens and decode rows) of one step
};

class Engine : public contract::EnginePort {
 public:
  // Errors: out_of_memory.
  static base::Result<std::unique_ptr<Engine>> create(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                                      const EngineOptions& options);

  base::Status admit(const contract::Request& request, contract::GenerationSpec spec) override;
  void start(const contract::StepPlan& plan) override;
  contract::StepCompletion complete() override;
  void release(contract::RequestId id) override;

  // Told where the time of each step goes; null: nobody is. Not while a step runs.
  void observe(StepObserver* observer) { forward_->observe(observer); }

 private:
  struct Sequence {
    contract::GenerationSpec spec;
    std::vector<contract::TokenId> tokens;  // prompt, then output
    size_t prompt_tokens = 0;
    uint64_t output_tokens_max = 0;
    size_t prompt_positions_reported = 0;  // so that a recompute does not report twice
    PageTable pages;
    size_t output_tokens() const { return tokens.size() - prompt_tokens; }
  };
  // Why a row's logits are wanted.
  struct WantedLogits {
    size_t row_result;  // index into the results
    Sequence* sequence;
    contract::RequestId request;
    int64_t position;  // of the row that was fed
    bool yields_token;
    bool is_prompt_position;
  };

  Engine(std::shared_ptr<const model::Model> model, KvMemory kv, std::unique_ptr<Forward> forward);
  void plan_prefill(const contract::PrefillChunk& chunk);
  void plan_decode(const contract::DecodeRow& row);
  void add_segment(Sequence& sequence, int64_t begin, int64_t end, contract::Phase phase);
  void want(Sequence& sequence, contract::RequestId id, int64_t row, int64_t position, bool yields_token,
            bool is_prompt_position);
  void take_logits(const WantedLogits& wanted, std::span<float> logits);
  void accept_token(const WantedLogits& wanted, contract::TokenOutput token);
  void finish_row(const WantedLogits& wanted, contract::FinishReason reason, std::string text, std::string error);
  contract::RequestOutput& output_of(contract::RequestId id);

  std::shared_ptr<const model::Model> model_;
  KvMemory kv_;
  std::unique_ptr<Forward> forward_;
  Sampler sampler_;
  std::unordered_map<contract::RequestId, std::unique_ptr<Sequence>> sequences_;
  // The running step.
  uint64_t step_ = 0;
  std::vector<contract::TokenId> row_tokens_;
  std::vector<Segment> segments_;
  std::vector<int64_t> wanted_rows_;
  std::vector<WantedLogits> wanted_;
  std::vector<uint64_t> allowed_;
  std::chrono::steady_clock::duration sampling_{};
  contract::StepCompletion completion_;
};

}  // namespace takt::engine
