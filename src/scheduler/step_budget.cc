#include "scheduler/step_budget.h"

#include <algorithm>

namespace takt::scheduler {
namespace {

// A step is long enough when a longer one would evaluate less than 2 % more tokens in the same time.
constexpr double kEfficiencyEnough = 0.98;
// While few sizes were seen, a step is at most twice the largest: the estimate of one far beyond is a guess.
constexpr uint32_t kGrowth = 2;
constexpr uint32_t kRowsUnseen = 64;

}  // namespace

void StepBudget::limit_to(base::Micros step_us_max) {
  step_us_max_ = step_us_max_ ? std::min(*step_us_max_, step_us_max) : step_us_max;
}

void StepBudget::limit_to_efficient() {
  limit_to(kStepUsUnlimited);
  if (!estimator_.is_ready()) return;
  const auto time_of = [&](uint32_t tokens) {
    StepShape shape = shape_;
    shape.add_prefill(0, tokens, false);
    return static_cast<double>(std::max<int64_t>(estimator_.predict_high(shape).count(), 1));
  };
  const uint32_t rows = shape_.decode_rows;
  uint32_t largest = kTileTokens;
  while (largest * 2 <= tokens_left_ && time_of(largest * 2) <= static_cast<double>(step_us_max_->count()))
    largest *= 2;
  const double rate_enough = kEfficiencyEnough * (largest + rows) / time_of(largest);
  uint32_t enough = largest;
  while (enough > kTileTokens && (enough - kTileTokens + rows) / time_of(enough - kTileTokens) >= rate_enough) {
    enough -= kTileTokens;
  }
  limit_to(base::Micros(static_cast<int64_t>(time_of(enough)) + 1));
}

bool StepBudget::is_within(const StepShape& shape) const {
  return !step_us_max_ || !estimator_.is_ready() || estimator_.predict_high(shape) <= *step_us_max_;
}

bool StepBudget::fits_decode(uint32_t position) const {
  StepShape shape = shape_;
  shape.add_decode(position);
  return tokens_left_ > 0 && is_within(shape);
}

void StepBudget::add_decode(uint32_t position) {
  shape_.add_decode(position);
  --tokens_left_;
}

uint32_t StepBudget::tokens_left_in_chunk() const {
  uint32_t tokens = tokens_left_;
  const uint32_t fixed_chunk = capacity_.chunk_tokens_beside_decode;
  if (fixed_chunk > 0) {
    if (shape_.decode_rows == 0) return tokens;
    return std::min(tokens, fixed_chunk - std::min(fixed_chunk, shape_.prefill_tokens));
  }
  const uint32_t rows_known = std::max(kRowsUnseen, kGrowth * estimator_.rows_seen_max());
  const uint32_t rows = shape_.prefill_tokens + shape_.decode_rows;
  return std::min(tokens, rows_known - std::min(rows_known, rows));
}

uint32_t StepBudget::prefill_tokens_fitting(uint32_t begin, uint32_t length) const {
  const uint32_t most = std::min(length - begin, tokens_left_in_chunk());
  if (capacity_.chunk_tokens_beside_decode > 0) return most;
  const auto fits = [&](uint32_t tokens) {
    StepShape shape = shape_;
    shape.add_prefill(begin, begin + tokens, begin + tokens == length);
    return is_within(shape);
  };
  if (most == 0 || fits(most)) return most;
  // The time grows with the tokens: halve the range.
  uint32_t low = 0, high = most;  // low tokens fit, high tokens do not
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low < 2 * kTileTokens ? low : low - low % kTileTokens;
}

uint32_t StepBudget::prefill_tokens_min(uint32_t begin, uint32_t length) const {
  return std::min({length - begin, kChunkTokensMin, tokens_left_in_chunk()});
}

void StepBudget::add_prefill(uint32_t begin, uint32_t end, bool yields_token) {
  shape_.add_prefill(begin, end, yields_token);
  tokens_left_ -= end - begin;
}

}  // namespace takt::scheduler
