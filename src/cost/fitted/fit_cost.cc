#include "cost/fitted/fit_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cost/fitted/least_squares.h"

namespace takt::cost {
namespace {

// Where the cost of rows may bend: every number up to 4, where a kernel's registers decide; 32 | 33, where the engine
// changes from the decode to the prefill kernels; steps of a half or a third of an octave else.
constexpr int64_t kKnotTokens[] = {1,  2,   3,   4,   6,   8,   12,  16,   24,   32,   33,   48,  64,
                                   96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096, 8192};
constexpr int64_t kPathChange = 32;  // no smoothness is asked for between this many rows and one more

// Rounds of reweighting; after so few the weights change in the third digit only.
constexpr int kRounds = 8;
// Huber's k: 95 % as good as plain least squares if the errors were Gaussian (Huber, Robust Estimation of a Location
// Parameter, 1964), in units of the errors' deviation estimated by 1.4826 x their median.
constexpr double kHuber = 1.345;
// A knot without samples near it lies on the line between its neighbours; where there are samples this pull is as
// strong as a third of one of them.
constexpr double kSmoothness = 0.33;
// So strongly are the other coefficients pulled to zero, in samples of a typical step: decides only where samples
// cannot tell two of them apart (in pure decode steps every row is a sampled row).
constexpr double kRidge = 0.01;
// Levels of the noise quantiles: the outer ones are 1 in 400, beyond what a P99 asks for.
constexpr size_t kNoiseLevels = 401;

constexpr size_t kLinearCount = 5;  // coefficients beside the knots

double blocks_of(const StepFeatures& f) {
  return std::ceil(static_cast<double>(f.sampled_rows) / static_cast<double>(kSampledBlockRows));
}

std::array<double, kLinearCount> linear_features(const StepFeatures& f) {
  return {static_cast<double>(f.sampled_rows), blocks_of(f), static_cast<double>(f.chunks),
          static_cast<double>(f.prefill_pairs), static_cast<double>(f.decode_positions)};
}

// The knots from the last one below the samples to the first one above them.
std::vector<int64_t> choose_knots(const std::vector<StepSample>& samples) {
  int64_t low = samples[0].features.tokens, high = low;
  for (const StepSample& sample : samples) {
    low = std::min(low, sample.features.tokens);
    high = std::max(high, sample.features.tokens);
  }
  std::vector<int64_t> knots;
  for (size_t i = 0; i < std::size(kKnotTokens); ++i) {
    const bool is_below = i + 1 < std::size(kKnotTokens) && kKnotTokens[i + 1] <= low;
    const bool is_above = i > 0 && kKnotTokens[i - 1] >= high;
    if (!is_below && !is_above) knots.push_back(kKnotTokens[i]);
  }
  return knots;
}

// The unknowns: a time for each knot, then the linear coefficients.
class Fitter {
 public:
  explicit Fitter(const std::vector<StepSample>& samples)
      : samples_(samples), knots_(choose_knots(samples)), is_zero_(kLinearCount, false) {}

  std::vector<double> fit() {
    weights_.assign(samples_.size(), 1);
    std::vector<double> solution;
    for (int round = 0; round < kRounds; ++round) {
      solution = solve_non_negative();
      reweight(solution);
    }
    return solution;
  }

  CostCoefficients coefficients(const std::vector<double>& solution) const {
    CostCoefficients result;
    for (size_t i = 0; i < knots_.size(); ++i) result.knots.push_back({knots_[i], std::max(0.0, solution[i])});
    const double* linear = solution.data() + knots_.size();
    result.sampled_us = linear[0];
    result.sampled_block_us = linear[1];
    result.chunk_us = linear[2];
    result.pair_us = linear[3];
    result.position_us = linear[4];
    return result;
  }

 private:
  std::vector<double> row_of(const StepFeatures& features) const {
    std::vector<double> row(knots_.size() + kLinearCount, 0);
    const auto right = std::lower_bound(knots_.begin(), knots_.end(), features.tokens);
    const auto at = static_cast<size_t>(right - knots_.begin());
    if (at == knots_.size() || *right == features.tokens || at == 0) {
      row[std::min(at, knots_.size() - 1)] = 1;
    } else {
      const double span = static_cast<double>(knots_[at] - knots_[at - 1]);
      row[at] = static_cast<double>(features.tokens - knots_[at - 1]) / span;
      row[at - 1] = 1 - row[at];
    }
    const auto linear = linear_features(features);
    for (size_t i = 0; i < kLinearCount; ++i) row[knots_.size() + i] = is_zero_[i] ? 0 : linear[i];
    return row;
  }

  // A coefficient below zero makes no sense: it is taken out, and the rest solved again.
  std::vector<double> solve_non_negative() {
    for (;;) {
      std::vector<double> solution = solve();
      const auto linear = solution.begin() + static_cast<std::ptrdiff_t>(knots_.size());
      const auto least = std::min_element(linear, solution.end());
      if (*least >= 0) return solution;
      is_zero_[static_cast<size_t>(least - linear)] = true;
    }
  }

  std::vector<double> solve() const {
    LeastSquares equations(knots_.size() + kLinearCount);
    double log_sum = 0;
    std::array<double, kLinearCount> scale{};
    for (size_t i = 0; i < samples_.size(); ++i) {
      const double us = static_cast<double>(std::max<int64_t>(samples_[i].duration.count(), 1));
      equations.add(row_of(samples_[i].features), us, weights_[i] / (us * us));
      log_sum += std::log(us);
      const auto linear = linear_features(samples_[i].features);
      for (size_t k = 0; k < kLinearCount; ++k) scale[k] = std::max(scale[k], linear[k]);
    }
    const double typical_us = std::exp(log_sum / static_cast<double>(samples_.size()));
    add_smoothness(equations, typical_us);
    for (size_t k = 0; k < kLinearCount; ++k) {
      std::vector<double> row(knots_.size() + kLinearCount, 0);
      row[knots_.size() + k] = is_zero_[k] ? 1 : std::max(scale[k], 1.0);
      equations.add(row, 0, kRidge / (typical_us * typical_us));
    }
    return equations.solve();
  }

  // Each knot between two others wants to lie on their line.
  void add_smoothness(LeastSquares& equations, double typical_us) const {
    for (size_t i = 1; i + 1 < knots_.size(); ++i) {
      if (knots_[i] == kPathChange || knots_[i - 1] == kPathChange) continue;
      std::vector<double> row(knots_.size() + kLinearCount, 0);
      const double part =
          static_cast<double>(knots_[i] - knots_[i - 1]) / static_cast<double>(knots_[i + 1] - knots_[i - 1]);
      row[i - 1] = -(1 - part);
      row[i] = 1;
      row[i + 1] = -part;
      equations.add(row, 0, kSmoothness / (typical_us * typical_us));
    }
    if (knots_.size() < 2) return;
    // The ends may have no samples either.
    std::vector<double> row(knots_.size() + kLinearCount, 0);
    row[0] = 1;
    row[1] = -1;
    equations.add(row, 0, 1e-3 / (typical_us * typical_us));
    row.assign(row.size(), 0);
    row[knots_.size() - 1] = 1;
    row[knots_.size() - 2] = -static_cast<double>(knots_.back()) / static_cast<double>(knots_[knots_.size() - 2]);
    equations.add(row, 0, 1e-3 / (typical_us * typical_us));
  }

  void reweight(const std::vector<double>& solution) {
    std::vector<double> errors(samples_.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      const std::vector<double> row = row_of(samples_[i].features);
      double predicted = 0;
      for (size_t k = 0; k < row.size(); ++k) predicted += row[k] * solution[k];
      errors[i] = std::abs(predicted / static_cast<double>(std::max<int64_t>(samples_[i].duration.count(), 1)) - 1);
    }
    std::vector<double> sorted = errors;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const double deviation = std::max(1.4826 * sorted[sorted.size() / 2], 1e-6);
    for (size_t i = 0; i < errors.size(); ++i) weights_[i] = std::min(1.0, kHuber * deviation / (errors[i] + 1e-12));
  }

  const std::vector<StepSample>& samples_;
  std::vector<int64_t> knots_;
  std::vector<bool> is_zero_;
  std::vector<double> weights_;
};

std::vector<double> quantiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  if (values.size() <= kNoiseLevels) return values;
  std::vector<double> quantiles(kNoiseLevels);
  for (size_t i = 0; i < kNoiseLevels; ++i) quantiles[i] = values[i * (values.size() - 1) / (kNoiseLevels - 1)];
  return quantiles;
}

// Mean host time as a line over the rows that yield a token, without the slowest hundredth (a loop that was not
// scheduled for a while: that is noise, not a cost of rows).
void fit_host(const std::vector<StepSample>& samples, CostCoefficients& into) {
  std::vector<double> times;
  for (const StepSample& sample : samples) {
    if (sample.host) times.push_back(static_cast<double>(sample.host->count()));
  }
  if (times.size() < kFitSamplesMin) return;
  std::sort(times.begin(), times.end());
  const double limit = times[times.size() - 1 - times.size() / 100];
  LeastSquares equations(2);
  double sum = 0, count = 0;
  for (const StepSample& sample : samples) {
    if (!sample.host || static_cast<double>(sample.host->count()) > limit) continue;
    const auto us = static_cast<double>(sample.host->count());
    equations.add({1, static_cast<double>(sample.features.sampled_rows)}, us, 1);
    sum += us;
    count += 1;
  }
  equations.add({0, 1}, 0, kRidge);
  const std::vector<double> solution = equations.solve();
  const bool is_line = solution[0] >= 0 && solution[1] >= 0;
  into.host_fixed_us = is_line ? solution[0] : sum / count;
  into.host_row_us = is_line ? solution[1] : 0;
}

double quantile(const std::vector<double>& sorted, double level) {
  return sorted[static_cast<size_t>(std::ceil(level * static_cast<double>(sorted.size()))) - 1];
}

}  // namespace

base::Result<CostFit> fit_cost(const std::vector<StepSample>& samples) {
  if (samples.size() < kFitSamplesMin) {
    return base::Error{base::ErrorCode::invalid_argument,
                       std::to_string(samples.size()) +
                           " steps are too few to fit a cost: " + std::to_string(kFitSamplesMin) + " are needed"};
  }
  Fitter fitter(samples);
  CostFit fit;
  fit.coefficients = fitter.coefficients(fitter.fit());
  fit_host(samples, fit.coefficients);
  if (base::Status status = check(fit.coefficients); !status.ok()) return status.error();
  const FittedCost typical(fit.coefficients);
  std::array<std::vector<double>, kStepKindCount> ratios;
  for (const StepSample& sample : samples) {
    const auto predicted = static_cast<double>(typical.predict(sample.features).count());
    ratios[static_cast<size_t>(kind_of(sample.features))].push_back(
        std::min(static_cast<double>(sample.duration.count()) / predicted, 1e6));
  }
  for (size_t kind = 0; kind < kStepKindCount; ++kind) {
    if (ratios[kind].size() >= kFitSamplesMin) fit.coefficients.noise[kind] = quantiles_of(std::move(ratios[kind]));
  }
  fit.errors = measure_errors(typical, samples);
  return fit;
}

std::array<FitError, kStepKindCount> measure_errors(const FittedCost& cost, const std::vector<StepSample>& samples) {
  std::array<FitError, kStepKindCount> errors;
  for (size_t kind = 0; kind < kStepKindCount; ++kind) {
    std::vector<double> absolute, relative;
    double predicted_sum = 0, measured_sum = 0;
    for (const StepSample& sample : samples) {
      if (static_cast<size_t>(kind_of(sample.features)) != kind) continue;
      const auto predicted = static_cast<double>(cost.predict(sample.features).count());
      const auto measured = static_cast<double>(std::max<int64_t>(sample.duration.count(), 1));
      absolute.push_back(std::abs(predicted - measured));
      relative.push_back(absolute.back() / measured);
      predicted_sum += predicted;
      measured_sum += measured;
    }
    FitError& error = errors[kind];
    error.count = absolute.size();
    if (absolute.empty()) continue;
    for (size_t i = 0; i < absolute.size(); ++i) {
      error.mean_us += absolute[i] / static_cast<double>(absolute.size());
      error.mean += relative[i] / static_cast<double>(absolute.size());
    }
    std::sort(absolute.begin(), absolute.end());
    std::sort(relative.begin(), relative.end());
    error.p50_us = quantile(absolute, 0.5);
    error.p99_us = quantile(absolute, 0.99);
    error.p50 = quantile(relative, 0.5);
    error.p99 = quantile(relative, 0.99);
    error.total = predicted_sum / measured_sum;
  }
  return errors;
}

std::string to_table(const std::array<FitError, kStepKindCount>& errors) {
  constexpr std::array<const char*, kStepKindCount> kNames = {"decode only", "with prefill"};
  std::array<char, 200> line;
  std::snprintf(line.data(), line.size(), "%-12s %8s %24s %26s %10s\n", "error of", "steps", "mean / P50 / P99 ms",
                "mean / P50 / P99 %", "all steps");
  std::string text = line.data();
  for (size_t kind = 0; kind < kStepKindCount; ++kind) {
    const FitError& e = errors[kind];
    if (e.count == 0) continue;
    std::snprintf(line.data(), line.size(), "%-12s %8llu %8.2f %7.2f %7.2f %10.2f %7.2f %7.2f %9.2f%%\n", kNames[kind],
                  static_cast<unsigned long long>(e.count), e.mean_us / 1e3, e.p50_us / 1e3, e.p99_us / 1e3,
                  e.mean * 100, e.p50 * 100, e.p99 * 100, (e.total - 1) * 100);
    text += line.data();
  }
  return text;
}

}  // namespace takt::cost
