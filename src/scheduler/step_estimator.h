// How long steps take, learned from those that were absorbed, and how far from it they come out.
//
// A step's time is taken as a sum: a fixed part, the rows of its matrix products (the first 32 rows cost little more than one
// where weights are streamed, so they count apart from those beyond), the pairs of tokens its prefill attends to, the
// positions its decode rows read, and the rows that are multiplied with the output matrix. The factors are the
// least-squares solution, of relative errors, over what was seen. What was seen is kept in buckets of similar steps, each
// with the mean of its latest steps, so that hours of decoding do not make the estimator forget what a prompt costs.
// Doubles, but only + - × / in a fixed order: the same calls give the same bits, so it replays.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/units.h"
#include "contract/step_shape.h"

namespace takt::scheduler {

using contract::StepShape;

class StepEstimator {
 public:
  void learn(const StepShape& shape, base::Micros duration);
  // Time from the end of a step to the start of the next one, when it follows at once: delivery, planning.
  void learn_between(base::Micros duration);

  bool is_ready() const { return !buckets_.empty(); }
  // The expected time; zero while nothing was learned.
  base::Micros predict(const StepShape& shape) const;
  // A time that all but about one of 150 steps keep: the expected one times the margin, and the time between steps.
  base::Micros predict_high(const StepShape& shape) const;
  // The most rows of a step seen so far: predictions far beyond are guesses.
  uint32_t rows_seen_max() const { return rows_seen_max_; }
  // The factor of predict_high().
  double margin() const { return margin_; }
  base::Micros between() const { return base::Micros(static_cast<int64_t>(between_us_)); }

 private:
  static constexpr int kFeatureCount = 6;
  using Features = std::array<double, kFeatureCount>;
  struct Bucket {
    Features features{};
    double us = 0;
    double steps = 0;  // that the means stand for; at most kBucketStepsMax
  };
  static Features features(const StepShape& shape);
  static uint32_t bucket_key(const StepShape& shape);
  static double dot(const Features& a, const Features& b);
  void note_error(const StepShape& shape, double us);
  void fit() const;

  // Of the normal equations: over the buckets, weight x feature x feature (the lower triangle) and weight x feature x us.
  struct Sums {
    std::array<Features, kFeatureCount> normal{};
    Features right{};
  };
  void add_to_sums(const Bucket& bucket, double sign);

  std::map<uint32_t, Bucket> buckets_;
  Sums sums_;
  uint64_t learned_ = 0;
  mutable Features factors_{};     // microseconds per unit of each feature; never negative
  mutable bool is_fitted_ = true;  // factors_ belong to sums_
  std::array<double, 2> drift_{1.0,
                               1.0};  // of what steps take now over what the factors say: [decode only, with prefill]
  double margin_ = 1.15;
  double between_us_ = 0;
  uint32_t rows_seen_max_ = 0;
};

}  // namespace takt::scheduler
