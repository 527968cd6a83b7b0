// scheduler_cost [--steps N]
// What the scheduler itself takes of a step: the time of absorb() and the next() behind it, at 64 decoding rows and 1,000 waiting
// requests, while steps of a made-up machine are fed to it. Prints the median, the 99th percentile and the largest of each load.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"

using namespace takt;

namespace {

constexpr uint32_t kRows = 64;
constexpr size_t kWaiting = 1'000;

struct Load {
  const char* name;
  uint32_t prompt_tokens;  // of each request; the shared beginning is half of it
  uint32_t output_tokens;  // 0: more than the run has steps, so that nobody ends
  uint32_t page_count;     // few: those that wait find no pages
  int64_t itl_us_max;      // 0: no limit
  uint32_t long_prompt;    // tokens of a prompt that prefills all the time beside the rows; 0: none
  uint32_t tenants;
};

constexpr Load kLoads[] = {
    {"rows full, nobody ends", 200, 0, 1u << 16, 0, 0, 1},
    {"rows full, nobody ends, 50 API keys", 200, 0, 1u << 16, 0, 0, 50},
    {"no pages left for the next", 2'000, 0, 64 * 72, 0, 0, 1},
    {"a long prompt beside 63 rows, ITL limit", 200, 0, 1u << 17, 60'000, 1u << 20, 1},
    {"answers of 200 tokens, each followed by a newcomer", 200, 200, 1u << 16, 0, 0, 1},
    {"the same, with an ITL limit", 200, 200, 1u << 16, 60'000, 0, 1},
    {"the same, with pages running out", 200, 200, 64 * 10, 60'000, 0, 1},
};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Run {
 public:
  explicit Run(const Load& load) : load_(load) {
    contract::Capacity capacity;
    capacity.page_count = load.page_count;
    capacity.context_tokens = 1u << 22;
    capacity.rows_max = kRows;
    capacity.waiting_requests_max = 2 * kWaiting;
    capacity.waiting_tokens_max = base::Tokens(1 << 30);
    capacity.has_prefix_cache = true;
    contract::ServicePolicy policy;
    if (load.itl_us_max > 0) policy.of(contract::ServiceClass::interactive).itl_max = base::Micros(load.itl_us_max);
    scheduler_ = std::move(scheduler::make_scheduler(capacity, policy).value());
    const size_t rows = kRows - (load.long_prompt > 0 ? 1 : 0);
    for (size_t i = 0; i < rows; ++i) submit(load.prompt_tokens);
    while (load.long_prompt > 0 && bounds().decoding_requests < rows) step();
    if (load.long_prompt > 0) submit(load.long_prompt);
    for (size_t i = 0; i < kWaiting; ++i) submit(load.prompt_tokens);
  }

  // One absorb() and the next(); both are timed.
  void step() {
    contract::StepResult result = result_of(plan_);
    const int64_t start = now_ns();
    if (plan_.has_work()) scheduler_->absorb(result, base::Micros(now_us_));
    plan_ = scheduler_->next(base::Micros(now_us_ + 50));
    step_ns_.push_back(now_ns() - start);
    now_us_ += 50;
    for (; ended_ > 0; --ended_) submit(load_.prompt_tokens);
  }

  void forget() { step_ns_.clear(), submit_ns_.clear(); }
  const contract::StepPlan& plan() const { return plan_; }
  contract::Bounds bounds() const { return scheduler_->bounds(); }
  std::vector<int64_t>& step_ns() { return step_ns_; }
  std::vector<int64_t>& submit_ns() { return submit_ns_; }

 private:
  void submit(uint32_t prompt_tokens) {
    contract::Request request;
    request.id = contract::RequestId{++requests_};
    std::vector<contract::TokenId> prompt(prompt_tokens, 7);
    for (size_t i = prompt.size() / 2; i < prompt.size(); ++i)
      prompt[i] = static_cast<contract::TokenId>((requests_ * 977 + i) % 50'000);
    request.prompt = std::make_shared<const std::vector<contract::TokenId>>(std::move(prompt));
    request.tenant = requests_ % load_.tenants;
    const uint32_t outputs =
        load_.output_tokens > 0 ? load_.output_tokens / 2 + requests_ % load_.output_tokens : 1u << 20;
    request.output_tokens_max = base::Tokens(outputs);
    outputs_left_[requests_] = outputs;
    const int64_t start = now_ns();
    const contract::Admission admission = scheduler_->submit(request, base::Micros(now_us_));
    submit_ns_.push_back(now_ns() - start);
    if (!admission.is_accepted) {
      std::fprintf(stderr, "scheduler_cost: refused: %s\n", admission.reason.c_str());
      std::exit(1);
    }
  }

  contract::StepResult result_of(const contract::StepPlan& plan) {
    contract::StepResult result;
    result.step = plan.step;
    int64_t us = 20'000 + 100 * static_cast<int64_t>(plan.decode_rows.size());
    for (const auto& chunk : plan.prefill_chunks) {
      us += 300 * (chunk.end - chunk.begin);
      result.rows.push_back(row(chunk.request, contract::Phase::prefill, chunk.is_last));
    }
    for (const auto& decode : plan.decode_rows)
      result.rows.push_back(row(decode.request, contract::Phase::decode, true));
    result.duration = base::Micros(us + static_cast<int64_t>(plan.step % 7) * us / 100);
    now_us_ += result.duration.count();
    return result;
  }

  contract::RowResult row(contract::RequestId id, contract::Phase phase, bool yields_token) {
    contract::RowResult result;
    result.request = id;
    result.phase = phase;
    if (!yields_token) return result;
    result.tokens_accepted = 1;
    result.tokens = {static_cast<contract::TokenId>(now_us_ % 50'000)};
    const auto found = outputs_left_.find(id.value);
    if (--found->second > 0) return result;
    result.finish = contract::FinishReason::length;
    outputs_left_.erase(found);
    ++ended_;
    return result;
  }

  const Load& load_;
  std::unique_ptr<contract::SchedulerPort> scheduler_;
  std::map<uint64_t, uint32_t> outputs_left_;
  contract::StepPlan plan_;
  std::vector<int64_t> step_ns_, submit_ns_;
  uint64_t requests_ = 0;
  uint32_t ended_ = 0;
  int64_t now_us_ = 1'000'000;
};

double us_at(std::vector<int64_t>& ns, double share) {
  if (ns.empty()) return 0;
  std::sort(ns.begin(), ns.end());
  return static_cast<double>(ns[static_cast<size_t>(share * static_cast<double>(ns.size() - 1))]) / 1000;
}

void measure(const Load& load, int steps) {
  Run run(load);
  // Until the rows are full, or no more come in.
  for (int i = 0; i < 2'000 && run.bounds().decoding_requests + (load.long_prompt > 0) < kRows; ++i) run.step();
  for (int i = 0; i < 100; ++i) run.step();
  run.forget();
  for (int i = 0; i < steps; ++i) run.step();
  const contract::Bounds bounds = run.bounds();
  std::printf("| %s | %u | %u | %.1f | %.1f | %.1f | %.1f |\n", load.name, bounds.decoding_requests,
              bounds.waiting_requests, us_at(run.step_ns(), 0.5), us_at(run.step_ns(), 0.99), us_at(run.step_ns(), 1.0),
              us_at(run.submit_ns(), 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 4'000;
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], "--steps") == 0) steps = std::max(1, std::atoi(argv[i + 1]));
  std::printf(
      "| load | decoding | waiting | step P50 µs | P99 | most | submit P50 µs |\n|---|---|---|---|---|---|---|\n");
  for (const Load& load : kLoads) measure(load, steps);
}
