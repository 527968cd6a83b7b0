#include "scheduler/step_estimator.h"

#include <algorithm>
#include <bit>

namespace takt::scheduler {
namespace {

// Twelve days: longer steps are a broken clock.
constexpr double kStepUsMax = 1e12;
// Matrix products of up to so many rows stream the weights (kernels: decode_rows_max); the unit of the row features.
constexpr double kPanelTokens = 32;
// A bucket's mean stands for its latest steps: about a second of decoding, so that it follows the machine.
constexpr double kBucketStepsMax = 32;
// One step in eight: the drift follows a change of the machine's speed within some ten steps.
constexpr double kDriftRate = 1.0 / 8;
// The margin is the quantile that all but one in 150 steps of both phases keep: those are the ones that are cut to a limit, and
// 99 of 100 shall keep it. A step beyond it raises it, each step within lowers it by what makes one in 150 the balance. A rise
// of 1/25 went 0.07 beyond the quantile on a machine whose steps scatter by 14 % (P90) and 38 % (P99).
constexpr double kMarginRise = 0.02, kMarginFall = kMarginRise / 150;
constexpr double kMarginMin = 1.03, kMarginMax = 1.6;
// Pulls each factor towards zero where the steps seen do not tell features apart. Relative to the features' own weight.
constexpr double kRidge = 1e-4;
// The sums over the buckets are kept up to date, because adding up some fifty buckets in each step was two thirds of the
// scheduler's time. So often they are added up afresh, which keeps what rounding leaves far below the ridge.
constexpr uint64_t kStepsBetweenSums = 4096;

}  // namespace

StepEstimator::Features StepEstimator::features(const StepShape& shape) {
  const double rows = shape.prefill_tokens + shape.decode_rows;
  return {1.0,
          std::min(rows, kPanelTokens) / kPanelTokens,
          std::max(rows - kPanelTokens, 0.0) / kPanelTokens,
          static_cast<double>(shape.prefill_pairs) / 65536.0,
          static_cast<double>(shape.decode_positions) / 4096.0,
          shape.logits_rows / 8.0};
}

// Similar steps: the same powers of two of prefill tokens and decode rows, of four of what they attend to.
uint32_t StepEstimator::bucket_key(const StepShape& shape) {
  const auto log2 = [](uint64_t value) { return static_cast<uint32_t>(std::bit_width(value)); };
  return log2(shape.prefill_tokens) << 24 | log2(shape.decode_rows) << 16 | log2(shape.prefill_pairs) / 2 << 8 |
         log2(shape.decode_positions) / 2;
}

double StepEstimator::dot(const Features& a, const Features& b) {
  double sum = 0;
  for (int i = 0; i < kFeatureCount; ++i) sum += a[i] * b[i];
  return sum;
}

void StepEstimator::learn(const StepShape& shape, base::Micros duration) {
  const double us = std::clamp(static_cast<double>(duration.count()), 1.0, kStepUsMax);
  if (is_ready()) note_error(shape, us);
  rows_seen_max_ = std::max(rows_seen_max_, shape.prefill_tokens + shape.decode_rows);
  Bucket& bucket = buckets_[bucket_key(shape)];
  add_to_sums(bucket, -1);
  // A step of ten times the usual is the machine's stall, not what such steps cost: it counts as three times.
  const double known_us = bucket.steps >= 4 ? std::min(us, 3 * bucket.us) : us;
  bucket.steps = std::min(bucket.steps + 1, kBucketStepsMax);
  const double share = 1 / bucket.steps;
  const Features seen = features(shape);
  for (int i = 0; i < kFeatureCount; ++i) bucket.features[i] += (seen[i] - bucket.features[i]) * share;
  bucket.us += (known_us - bucket.us) * share;
  add_to_sums(bucket, 1);
  if (++learned_ % kStepsBetweenSums == 0) {
    sums_ = {};
    for (const auto& [key, known] : buckets_) add_to_sums(known, 1);
  }
  is_fitted_ = false;
}

// A bucket joins the sums of the normal equations, or leaves them. An empty one has nothing to add.
void StepEstimator::add_to_sums(const Bucket& bucket, double sign) {
  if (bucket.steps == 0) return;
  const double weight = sign * bucket.steps / (bucket.us * bucket.us);
  for (int i = 0; i < kFeatureCount; ++i) {
    const double weighted = weight * bucket.features[i];
    for (int j = 0; j <= i; ++j) sums_.normal[i][j] += weighted * bucket.features[j];
    sums_.right[i] += weighted * bucket.us;
  }
}

void StepEstimator::learn_between(base::Micros duration) {
  const double us = std::clamp(static_cast<double>(duration.count()), 0.0, kStepUsMax);
  between_us_ += (us - between_us_) * kDriftRate;
}

void StepEstimator::note_error(const StepShape& shape, double us) {
  const double expected = std::max(static_cast<double>(predict(shape).count()), 1.0);
  // Steps of another kind than all so far are predicted badly; that is no reason for a margin.
  const bool has_both_phases = shape.prefill_tokens > 0 && shape.decode_rows > 0;
  if (has_both_phases && shape.prefill_tokens + shape.decode_rows <= rows_seen_max_) {
    margin_ += us > expected * margin_ ? kMarginRise : -kMarginFall;
    margin_ = std::clamp(margin_, kMarginMin, kMarginMax);
  }
  double& drift = drift_[shape.prefill_tokens > 0 ? 1 : 0];
  const double ratio = std::clamp(us / expected, 0.5, 2.0);
  drift = std::clamp(drift * (1 + (ratio - 1) * kDriftRate), 0.25, 4.0);
}

base::Micros StepEstimator::predict(const StepShape& shape) const {
  if (!is_ready()) return {};
  if (!is_fitted_) fit();
  const double us = dot(factors_, features(shape)) * drift_[shape.prefill_tokens > 0 ? 1 : 0];
  return base::Micros(static_cast<int64_t>(std::min(us, kStepUsMax)));
}

base::Micros StepEstimator::predict_high(const StepShape& shape) const {
  const double us = static_cast<double>(predict(shape).count()) * margin_ + between_us_;
  return base::Micros(static_cast<int64_t>(us));
}

// Weighted least squares by the normal equations, 6 × 6, by elimination; a factor that comes out negative is fixed at zero
// and the others are solved again (at most six times).
void StepEstimator::fit() const {
  const auto normal = [this](int i, int j) { return sums_.normal[std::max(i, j)][std::min(i, j)]; };
  std::array<bool, kFeatureCount> is_zero{};
  for (int round = 0; round < kFeatureCount; ++round) {
    double a[kFeatureCount][kFeatureCount + 1];
    for (int i = 0; i < kFeatureCount; ++i) {
      for (int j = 0; j < kFeatureCount; ++j) a[i][j] = is_zero[i] || is_zero[j] ? 0 : normal(i, j);
      // An unseen or excluded feature gets the factor zero; the ridge is relative, so units do not matter.
      a[i][i] = is_zero[i] || normal(i, i) == 0 ? 1 : normal(i, i) * (1 + kRidge);
      a[i][kFeatureCount] = is_zero[i] ? 0 : sums_.right[i];
    }
    for (int i = 0; i < kFeatureCount; ++i) {
      for (int row = i + 1; row < kFeatureCount; ++row) {
        if (a[row][i] == 0) continue;  // unseen or excluded
        const double factor = a[row][i] / a[i][i];
        for (int j = i; j <= kFeatureCount; ++j) a[row][j] -= factor * a[i][j];
      }
    }
    bool is_done = true;
    for (int i = kFeatureCount - 1; i >= 0; --i) {
      double value = a[i][kFeatureCount];
      for (int j = i + 1; j < kFeatureCount; ++j) value -= a[i][j] * factors_[j];
      factors_[i] = value / a[i][i];
    }
    for (int i = 0; i < kFeatureCount; ++i) {
      if (factors_[i] >= 0) continue;
      factors_[i] = 0;
      is_zero[i] = true;
      is_done = false;
    }
    if (is_done) break;
  }
  is_fitted_ = true;
}

}  // namespace takt::scheduler
