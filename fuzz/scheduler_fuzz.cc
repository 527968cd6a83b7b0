// Any order of submits, cancels and steps that a world could produce: the scheduler's plans must be executable
// (worlds/sim's engine checks them), no page may leak, and once nothing more arrives every request must end.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/admission.h"
#include "scheduler/scheduler.h"
#include "worlds/sim/sim_engine.h"

namespace {

using namespace takt;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "scheduler_fuzz: %s\n", what);
  std::abort();
}

// Numbers out of the input; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool is_at_end() const { return data_ == end_; }
  uint32_t byte() { return is_at_end() ? 0 : *data_++; }
  uint32_t between(uint32_t low, uint32_t high) { return low + (byte() | byte() << 8) % (high - low + 1); }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

contract::Capacity read_capacity(Input& input) {
  contract::Capacity capacity;
  capacity.page_count = input.between(1, 40);
  capacity.page_tokens = input.between(1, 32);
  capacity.context_tokens = input.between(1, 500);
  capacity.rows_max = input.between(1, 12);
  capacity.step_tokens_max = capacity.rows_max + input.between(0, 60);
  capacity.chunk_tokens_beside_decode = input.between(1, 60);
  capacity.waiting_requests_max = input.between(0, 30);
  capacity.waiting_tokens_max = base::Tokens(input.between(0, 2000));
  capacity.has_prefix_cache = input.byte() % 4 != 0;
  return capacity;
}

// Prompts of two families that begin alike: from a token on, the rest is the request's own.
std::vector<contract::TokenId> read_prompt(Input& input, uint32_t tokens) {
  const auto family = static_cast<contract::TokenId>(input.byte() % 2),
             own = static_cast<contract::TokenId>(input.byte());
  std::vector<contract::TokenId> prompt(tokens, family);
  const uint32_t common = std::min(tokens, input.between(0, 520));
  std::fill(prompt.begin() + common, prompt.end(), own);
  return prompt;
}

// A world with one scheduler, whose events come from the input.
class Run {
 public:
  explicit Run(const contract::Capacity& capacity)
      : capacity_(capacity), scheduler_(std::move(scheduler::make_scheduler(capacity).value())), engine_(capacity) {}

  void submit(Input& input) {
    contract::Request request;
    // Now and then an id that is there already (or was; but not one that still waits for its step to end).
    const bool is_repeated = input.byte() < 8 && next_id_ > 1 && cancelled_.empty();
    request.id = contract::RequestId{is_repeated ? next_id_ - 1 : next_id_++};
    const uint32_t prompt_tokens = input.between(0, 520);
    request.prompt = std::make_shared<const std::vector<contract::TokenId>>(read_prompt(input, prompt_tokens));
    request.tenant = input.byte() % 8 == 0 ? 1 : 0;
    request.reads_prefix_cache = input.byte() % 8 != 0;
    request.output_tokens_max = base::Tokens(input.between(0, 600) - int64_t{1});
    request.service_class = static_cast<contract::ServiceClass>(input.byte() % 3);
    const uint32_t output_tokens = input.between(1, 300);
    const contract::Admission admission = scheduler_->submit(request, base::Micros(now_));
    if (admission.is_accepted) {
      const auto output_tokens_max = static_cast<uint32_t>(admission.output_tokens_max.count());
      engine_.admit(request, output_tokens_max, output_tokens);
    } else {
      require(!admission.reason.empty(), "refused without a reason");
    }
  }

  void cancel(Input& input) {
    const contract::RequestId id{next_id_ - 1 - input.byte() % std::min<uint64_t>(next_id_, 32)};
    scheduler_->cancel(id, base::Micros(now_));
    if (plan_.has_work()) {
      cancelled_.push_back(id);
    } else {
      engine_.release(id);
    }
  }

  void start() {
    if (plan_.has_work()) return;
    plan_ = scheduler_->next(base::Micros(now_));
    require(plan_.has_work() || (engine_.request_count() == 0 && plan_.preempted.empty()), "idle with live requests");
    if (!plan_.has_work()) return;
    const base::Status status = engine_.start(plan_);
    if (!status.ok()) require(false, status.error().message.c_str());
    require(scheduler_->bounds().pages_used == engine_.pages_owned(), "the pools differ");
  }

  void finish(int64_t duration) {
    if (!plan_.has_work()) return;
    now_ += duration;
    contract::StepResult result{plan_.step, engine_.complete(), base::Micros(duration)};
    plan_ = {};
    scheduler_->absorb(result, base::Micros(now_));
    for (const contract::RowResult& row : result.rows) {
      if (row.finish != contract::FinishReason::none) engine_.release(row.request);
    }
    for (const contract::RequestId id : cancelled_) engine_.release(id);
    cancelled_.clear();
    require(scheduler_->bounds().pages_used == engine_.pages_owned(), "the pools differ after a step");
  }

  void pass(int64_t duration) { now_ += duration; }

  // Nothing arrives any more: everything must end.
  void drain() {
    finish(1);
    // 30 waiting and 12 resident requests of 500 tokens, one token a step, each preempted now and then: far below this.
    for (int i = 0; i < 1'000'000; ++i) {
      start();
      if (!plan_.has_work()) break;
      finish(1);
    }
    const contract::Bounds bounds = scheduler_->bounds();
    require(engine_.request_count() == 0, "requests that never end");
    require(bounds.pages_free == capacity_.page_count, "pages leaked");
    require(bounds.prefix_tokens_hit <= bounds.prefix_tokens_asked, "more hits than tokens");
    require(capacity_.has_prefix_cache || bounds.pages_cached == 0, "cached pages without a cache");
    require(bounds.waiting_tokens.count() == 0 && bounds.waiting_requests == 0, "the counts of the queue are wrong");
    require(bounds.gap_max.count() >= 0 && bounds.prompt_wait_max.count() >= 0, "a negative bound");
  }

 private:
  contract::Capacity capacity_;
  std::unique_ptr<contract::SchedulerPort> scheduler_;
  worlds::SimEngine engine_;
  contract::StepPlan plan_;
  std::vector<contract::RequestId> cancelled_;  // while the step runs
  uint64_t next_id_ = 1;
  int64_t now_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Run run(read_capacity(input));
  while (!input.is_at_end()) {
    switch (input.byte() % 8) {
      case 0:
      case 1: run.submit(input); break;
      case 2: run.cancel(input); break;
      case 3: run.pass(int64_t{1} << input.byte() % 32); break;
      case 4:
      case 5: run.start(); break;
      default: run.finish(input.byte() * 1000); break;
    }
  }
  run.drain();
  return 0;
}
