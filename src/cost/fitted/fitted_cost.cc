#include "cost/fitted/fitted_cost.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

namespace takt::cost {
namespace {

int64_t blocks_of(int64_t sampled_rows) { return (sampled_rows + kSampledBlockRows - 1) / kSampledBlockRows; }

base::Micros rounded(double us) { return base::Micros(std::max<int64_t>(1, std::llround(std::min(us, 1e15)))); }

// In (0, 1): SplitMix64's finaliser over both numbers.
double uniform_of(uint64_t seed, uint64_t number) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + number + 0x9e3779b97f4a7c15u;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
}

// Box and Muller.
double normal_of(uint64_t seed, uint64_t step) {
  const double radius = std::sqrt(-2 * std::log(uniform_of(seed, 2 * step)));
  return radius * std::cos(2 * std::numbers::pi * uniform_of(seed, 2 * step + 1));
}

// Slow steps come several at a time. How alike neighbours are, as the factor by which a step's part in the next ones' noise shrinks. Measured:
// correlation of log(measured / median of equal steps) over ten recordings of five loads on a two-core Zen 3: 0.45 with the next step
// (0.16 to 0.59, and 0.92 in one run during which the machine changed its speed), 0.25 with the one after it (0.15 to 0.40).
constexpr double kNoiseCarry = 0.5;
// What is left after six steps is 1.6 %.
constexpr uint64_t kNoiseSteps = 6;

// In (0, 1), even over all steps, correlated by kNoiseCarry ^ distance: a moving average of normals and its distribution function.
double correlated_uniform_of(uint64_t seed, uint64_t step) {
  double sum = 0, squares = 0, weight = 1;
  for (uint64_t back = 0; back < kNoiseSteps; ++back, weight *= kNoiseCarry) {
    sum += weight * normal_of(seed, step - back);
    squares += weight * weight;
  }
  return std::erfc(-sum / std::sqrt(2 * squares)) / 2;
}

}  // namespace

double rows_us(const std::vector<CostKnot>& knots, int64_t tokens) {
  assert(!knots.empty());
  const auto after = std::lower_bound(knots.begin(), knots.end(), tokens,
                                      [](const CostKnot& knot, int64_t value) { return knot.tokens < value; });
  if (knots.size() == 1 || (after != knots.end() && after->tokens == tokens) || after == knots.begin()) {
    return after == knots.end() ? knots.back().us : after->us;
  }
  const CostKnot& right = after == knots.end() ? knots.back() : *after;
  const CostKnot& left = after == knots.end() ? knots[knots.size() - 2] : *(after - 1);
  const double slope = (right.us - left.us) / static_cast<double>(right.tokens - left.tokens);
  return left.us + std::max(after == knots.end() ? 0.0 : -1e300, slope) * static_cast<double>(tokens - left.tokens);
}

FittedCost::FittedCost(CostCoefficients coefficients) : coefficients_(std::move(coefficients)) {
  assert(check(coefficients_).ok());
}

base::Micros FittedCost::predict(const contract::StepPlan& plan) const { return predict(count_features(plan)); }

base::Micros FittedCost::predict(const StepFeatures& features) const {
  const CostCoefficients& c = coefficients_;
  return rounded(rows_us(c.knots, features.tokens) + c.sampled_us * static_cast<double>(features.sampled_rows) +
                 c.sampled_block_us * static_cast<double>(blocks_of(features.sampled_rows)) +
                 c.chunk_us * static_cast<double>(features.chunks) +
                 c.pair_us * static_cast<double>(features.prefill_pairs) +
                 c.position_us * static_cast<double>(features.decode_positions));
}

base::Micros FittedCost::predict_host(const contract::StepPlan& plan) const {
  size_t rows = plan.decode_rows.size();
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) rows += chunk.is_last ? 1 : 0;
  const double us = coefficients_.host_fixed_us + coefficients_.host_row_us * static_cast<double>(rows);
  return base::Micros(std::llround(us));
}

base::Micros NoisyCost::predict(const contract::StepPlan& plan) const {
  const StepFeatures features = count_features(plan);
  const double typical = static_cast<double>(typical_.predict(features).count());
  const std::vector<double>& noise = typical_.coefficients().noise[static_cast<size_t>(kind_of(features))];
  if (noise.empty()) return base::Micros(static_cast<int64_t>(typical));
  const double at = correlated_uniform_of(seed_, plan.step) * static_cast<double>(noise.size() - 1);
  const auto left = static_cast<size_t>(at);
  const size_t right = std::min(left + 1, noise.size() - 1);
  return rounded(typical * (noise[left] + (at - static_cast<double>(left)) * (noise[right] - noise[left])));
}

base::Status check(const CostCoefficients& coefficients) {
  const auto invalid = [](const char* what) { return base::Error{base::ErrorCode::invalid_argument, what}; };
  // A step of 30 years is no step; sums and products stay far from overflow.
  const auto is_time = [](double us) { return us >= 0 && us <= 1e15; };
  if (coefficients.knots.empty()) return invalid("no knot: a cost needs the time of one number of rows at least");
  for (size_t i = 0; i < coefficients.knots.size(); ++i) {
    const CostKnot& knot = coefficients.knots[i];
    if (knot.tokens < 1 || knot.tokens > (int64_t{1} << 32)) return invalid("a knot's tokens are not in [1, 2^32]");
    if (i > 0 && knot.tokens <= coefficients.knots[i - 1].tokens) return invalid("the knots do not ascend");
    if (!is_time(knot.us)) return invalid("a knot's time is not in [0, 1e15] us");
  }
  for (const double us :
       {coefficients.sampled_us, coefficients.sampled_block_us, coefficients.chunk_us, coefficients.pair_us,
        coefficients.position_us, coefficients.host_fixed_us, coefficients.host_row_us}) {
    if (!is_time(us)) return invalid("a coefficient is not in [0, 1e15] us");
  }
  for (const std::vector<double>& noise : coefficients.noise) {
    for (size_t i = 0; i < noise.size(); ++i) {
      if (!(noise[i] >= 0 && noise[i] <= 1e6)) return invalid("a noise quantile is not in [0, 1e6]");
      if (i > 0 && noise[i] < noise[i - 1]) return invalid("the noise quantiles do not ascend");
    }
  }
  return {};
}

}  // namespace takt::cost
