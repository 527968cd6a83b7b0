// Decode speed against the number of rows that decode together: measured, and as the roofline predicts it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "bench/roofline.h"
#include "model/model.h"

namespace takt::apps {

struct RowsOptions {
  std::vector<int64_t> row_counts;  // ascending, each > 0
  int64_t depth = 64;               // tokens of each sequence in the KV cache before
  int64_t steps = 8;                // of each count in each repetition; one more is thrown away before them
  int repetitions = 3;
};

// All speeds in tokens/s, of all rows together; a user's is that divided by the rows.
struct RowsPoint {
  int64_t rows = 0;
  std::vector<double> step_us;  // one a step
  double step_us_median = 0;
  double tokens_per_s = 0;            // at the median
  double predicted_tokens_per_s = 0;  // cost::RooflineCost with the measured ceilings and nothing else; 0: unknown
  double mfu = 0, mbu = 0;            // percent
};

struct RowsReport {
  std::string model, kernel_set;
  int threads = 0;
  int64_t depth = 0;
  std::vector<RowsPoint> points;
  // Rows at which the arithmetic of the linear layers takes as long as reading their weights: below, one more row is nearly free.
  // 0: unknown.
  double knee_predicted = 0;
  // The best speed of all rows together over the speed of one: where the flat and the rising part of the step's time would meet if
  // both were straight lines. 0: one row was not measured.
  double knee_measured = 0;
};

// Alternates: every repetition takes all counts in turn, so that a machine that gets slower for a while does so for all of them.
// Fails the command when memory is short.
RowsReport measure_rows(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, const Roofline& roofline,
                        const RowsOptions& options);

// See RowsReport. points: ascending rows, at least one.
double measured_knee(const std::vector<RowsPoint>& points);

std::string rows_table(const RowsReport& report);
std::string rows_json(const RowsReport& report);
// Two charts over a logarithmic axis of rows: all rows together, and each user; measured and predicted, with both knees.
std::string rows_svg(const RowsReport& report);

}  // namespace takt::apps
