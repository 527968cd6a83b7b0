#include "bench/throughput.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "app_options.h"
#include "engine/engine.h"

namespace takt::apps {
namespace {

constexpr uint64_t kTokenSeed = 1;

// Drives an engine through hand-made plans. A repetition is a new sequence on the same pages, so that the depth's keys and values
// are computed once.
class Driver {
 public:
  Driver(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, const ThroughputTest& test) : test_(test) {
    const int64_t positions = test.depth_tokens + test.prompt_tokens + test.generated_tokens + 1;
    const auto pages = static_cast<uint32_t>((positions + kernels::kPageTokens - 1) / kernels::kPageTokens);
    auto engine = engine::Engine::create(model, pool,
                                         {pages, std::max<int64_t>(1, std::min(test.chunk_tokens, test.batch_tokens))});
    if (!engine) fail(engine.error());
    engine_ = std::move(engine).value();
    for (uint32_t page = 0; page < pages; ++page) pages_.push_back({page});
    std::mt19937_64 random(kTokenSeed);
    for (int64_t i = 0; i < positions; ++i)
      tokens_.push_back(static_cast<contract::TokenId>(random() % model->spec.vocabulary_size));
  }

  void fill_depth() {
    if (test_.depth_tokens == 0) return;
    begin(test_.depth_tokens);
    prefill(0, test_.depth_tokens);
  }

  int64_t run_once() {
    const int64_t depth = test_.depth_tokens, prompt_end = depth + test_.prompt_tokens;
    // Without a prompt the first fed token is the one behind the depth.
    begin(test_.prompt_tokens > 0 ? prompt_end : depth + 1);
    const auto start = std::chrono::steady_clock::now();
    if (test_.prompt_tokens > 0) prefill(depth, prompt_end);
    for (int64_t i = 0; i < test_.generated_tokens; ++i) decode(prompt_end + i);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  void begin(int64_t prompt_tokens) {
    engine_->release(id_);
    contract::Request request;
    request.id = id_;
    request.prompt = std::make_shared<std::vector<contract::TokenId>>(tokens_.begin(), tokens_.begin() + prompt_tokens);
    request.output_tokens_max = base::Tokens(INT32_MAX);
    contract::GenerationSpec spec;
    spec.forced_tokens.assign(tokens_.begin() + prompt_tokens, tokens_.end());
    spec.forced_tokens.resize(tokens_.size() + 1, 0);  // nothing is ever sampled
    if (auto status = engine_->admit(request, std::move(spec)); !status) fail(status.error());
    has_pages_ = false;
  }

  std::vector<contract::PageId> pages_once() {
    return std::exchange(has_pages_, true) ? std::vector<contract::PageId>() : pages_;
  }

  void prefill(int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t next = std::min(end, at + std::min(test_.chunk_tokens, test_.batch_tokens));
      contract::StepPlan plan;
      plan.prefill_chunks.push_back(
          {id_, static_cast<uint32_t>(at), static_cast<uint32_t>(next), next == end, pages_once()});
      step(plan);
      at = next;
    }
  }

  void decode(int64_t position) {
    contract::StepPlan plan;
    plan.decode_rows.push_back({id_, static_cast<uint32_t>(position), {}, pages_once()});
    step(plan);
  }

  void step(const contract::StepPlan& plan) {
    engine_->start(plan);
    engine_->complete();
  }

  ThroughputTest test_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<contract::PageId> pages_;
  std::vector<contract::TokenId> tokens_;
  contract::RequestId id_{1};
  bool has_pages_ = false;
};

}  // namespace

ThroughputResult measure_throughput(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                    const ThroughputTest& test, int repetitions) {
  ThroughputTest warm_up = test;
  warm_up.depth_tokens = 0;
  warm_up.generated_tokens = std::min<int64_t>(test.generated_tokens, 1);
  Driver(model, pool, warm_up).run_once();
  Driver driver(model, pool, test);
  driver.fill_depth();
  ThroughputResult result{test, pool.thread_count(), {}};
  for (int i = 0; i < repetitions; ++i) result.samples_ns.push_back(driver.run_once());
  return result;
}

}  // namespace takt::apps
