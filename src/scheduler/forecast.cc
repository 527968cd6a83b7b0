#include "scheduler/forecast.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace takt::scheduler {
namespace {

base::Micros times(base::Micros duration, int64_t factor) {
  const int64_t most = std::numeric_limits<int64_t>::max() / std::max<int64_t>(duration.count(), 1);
  return base::Micros(duration.count() * std::clamp<int64_t>(factor, 0, most));
}

}  // namespace

Forecast::Forecast(const contract::Capacity& capacity, const contract::ServicePolicy& policy,
                   const StepEstimator& estimator, const PrefillQueue& queue, const Residents& residents,
                   int64_t outputs_outstanding)
    : capacity_(capacity),
      policy_(policy),
      estimator_(estimator),
      queue_(queue),
      residents_(residents),
      outputs_outstanding_(outputs_outstanding),
      prompt_tokens_(queue.tokens().count()) {
  auto first_class = contract::ServiceClass::background;
  for (const Sequence* resident : residents.all()) first_class = std::min(first_class, resident->service_class);
  for (const Sequence* resident : residents.all()) {
    if (resident->stage == Stage::prefilling) prompt_tokens_ += resident->tokens_unevaluated();
    if (resident->stage != Stage::decoding || resident->service_class > first_class) continue;
    decoding_.push_back(resident);
    const auto& limit = policy.of(resident->service_class).itl_max;
    if (limit) itl_max_ = std::min(itl_max_.value_or(*limit), *limit);
  }
}

StepBudget Forecast::budget_beside_decode() const {
  StepBudget budget(estimator_, capacity_);
  for (const Sequence* sequence : decoding_) budget.add_decode(sequence->length() - 1);
  if (itl_max_) {
    budget.limit_to(*itl_max_);
  } else if (decoding_.empty()) {
    budget.limit_to(policy_.step_us_max);
  } else {
    budget.limit_to_efficient();
  }
  return budget;
}

Forecast::Step Forecast::step(StepBudget budget, uint32_t prompt_tokens) const {
  const uint32_t begin = prompt_tokens / 2;
  Step step;
  step.prefill_tokens = std::max(budget.prefill_tokens_fitting(begin, begin + capacity_.step_tokens_max),
                                 budget.prefill_tokens_min(begin, begin + capacity_.step_tokens_max));
  budget.add_prefill(begin, begin + step.prefill_tokens, false);
  step.expected = estimator_.predict(budget.shape()) + estimator_.between();
  step.high = estimator_.predict_high(budget.shape());
  return step;
}

base::Micros Forecast::time_of(const Step& step, int64_t prompt_tokens) const {
  if (step.prefill_tokens == 0 || prompt_tokens <= 0) return {};
  const double steps = static_cast<double>(prompt_tokens) / step.prefill_tokens;
  return base::Micros(static_cast<int64_t>(std::min(steps * static_cast<double>(step.expected.count()), 9e18)));
}

base::Micros Forecast::prefill_alone(uint32_t tokens) const {
  if (!is_ready()) return {};
  StepBudget budget(estimator_, capacity_);
  budget.limit_to(policy_.step_us_max);
  return time_of(step(budget, tokens), tokens);
}

base::Micros Forecast::time_for(base::Tokens prompt_tokens) const {
  if (!is_ready()) return {};
  return time_of(step(budget_beside_decode(), static_cast<uint32_t>(std::min<int64_t>(prompt_tokens.count(), 1 << 20))),
                 prompt_tokens.count());
}

base::Micros Forecast::ttft(const Sequence& sequence) const {
  if (!is_ready()) return {};
  int64_t tokens_before = 0;
  const auto count = [&](const Sequence* other) {
    if (other->rank < sequence.rank) tokens_before += other->tokens_unevaluated();
  };
  for (const Sequence* resident : residents_.all())
    if (resident->stage == Stage::prefilling) count(resident);
  uint32_t requests_before = residents_.count();
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    for (const Sequence* waiting : queue_.of(service_class)) {
      if (sequence.rank < waiting->rank) break;
      count(waiting);
      ++requests_before;
    }
  }
  const uint32_t own_tokens = sequence.prompt_tokens - sequence.tokens_cached_at_submit;
  const StepBudget budget = budget_beside_decode();
  const Step own = step(budget, own_tokens);
  base::Micros time = time_of(own, tokens_before + own_tokens);
  // On average it comes in the middle of a step.
  time += base::Micros(own.expected.count() / 2);
  // Without a free row it waits for others to end, each of which takes its share of what is outstanding.
  if (requests_before >= capacity_.rows_max) {
    const int64_t share = outputs_outstanding_ / std::max<int64_t>(requests_before, 1);
    const int64_t rounds = 1 + (requests_before - capacity_.rows_max) / capacity_.rows_max;
    time += times(estimator_.predict(budget.shape()), share * rounds);
  }
  return time;
}

base::Micros Forecast::decode(const Sequence& sequence) const {
  if (!is_ready() || sequence.outputs_remaining() <= 1) return {};
  StepBudget budget(estimator_, capacity_);
  for (const Sequence* other : decoding_) budget.add_decode(other->length() - 1);
  if (decoding_.size() < capacity_.rows_max) budget.add_decode(sequence.length() + sequence.outputs_remaining() / 2);
  return times(estimator_.predict(budget.shape()) + estimator_.between(), sequence.outputs_remaining() - 1);
}

base::Micros Forecast::gap_max() const {
  if (!is_ready() || decoding_.empty()) return {};
  const StepBudget budget = budget_beside_decode();
  if (prompt_tokens_ == 0) return estimator_.predict_high(budget.shape());
  if (capacity_.chunk_tokens_beside_decode > 0) return step(budget, static_cast<uint32_t>(prompt_tokens_)).high;
  // The step keeps its limit, unless the smallest chunk beside all rows is beyond it already.
  StepShape least = budget.shape();
  least.add_prefill(0, kChunkTokensMin, true);
  return std::max(*budget.step_us_max(), estimator_.predict_high(least));
}

base::Micros Forecast::prompt_wait_max() const {
  if (!is_ready() || prompt_tokens_ == 0) return {};
  const Step one = step(budget_beside_decode(), static_cast<uint32_t>(std::min<int64_t>(prompt_tokens_, 1 << 20)));
  // While a prompt waits, each step evaluates a whole chunk of prompts or, where no row is free for them, one token for
  // every row: so the steps until the last prompt is evaluated are at most the sum of both.
  int64_t steps = prompt_tokens_ / std::max<uint32_t>(one.prefill_tokens, 1) + 1;
  if (queue_.request_count() + residents_.count() > capacity_.rows_max)
    steps += outputs_outstanding_ / capacity_.rows_max + 1;
  return times(one.high, steps);
}

}  // namespace takt::scheduler
