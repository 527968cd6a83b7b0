#include "bench/rows.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "bench/engine_driver.h"
#include "bench/step_work.h"
#include "cost/roofline/roofline_cost.h"

namespace takt::apps {
namespace {

constexpr int64_t kPrefillChunk = 512;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<RowRange> ranges_of(int64_t rows, int64_t position) {
  return std::vector<RowRange>(static_cast<size_t>(rows), RowRange{position, position + 1});
}

// The ceilings as the cost model wants them, with no overhead at all: an upper bound of what a step can be.
cost::MachineRates ideal_rates(const Ceilings& ceilings) {
  const auto per_us = [](double per_s) { return std::max<int64_t>(1, std::llround(per_s * 1e-6)); };
  cost::MachineRates rates;
  rates.memory_bytes_per_us = per_us(ceilings.read_bytes_per_s);
  rates.linear_ops_per_us = per_us(ceilings.int8_per_s);
  rates.attention_ops_per_us = per_us(ceilings.float_per_s);
  rates.step_overhead_us = 0;
  rates.sample_us = 0;
  return rates;
}

// The model's sizes with the weights as they are packed, not as they stand in the file.
contract::ModelShape packed_shape(const model::Model& model) {
  contract::ModelShape shape = model.shape;
  const RowRange row{0, 1};
  const StepWork work = work_of_step(model, {&row, 1}, 1);
  const double attention_bytes = work.at(engine::Operation::attention).bytes;
  shape.weight_bytes = base::Bytes(std::llround(work.products().bytes - attention_bytes));
  return shape;
}

contract::StepPlan decode_plan(int64_t rows, int64_t position) {
  contract::StepPlan plan;
  for (int64_t i = 0; i < rows; ++i)
    plan.decode_rows.push_back(
        {contract::RequestId{static_cast<uint64_t>(i)}, static_cast<uint32_t>(position), {}, {}});
  return plan;
}

// One count in one repetition: times of its steps, in microseconds.
void time_steps(EngineDriver& driver, const RowsOptions& options, RowsPoint& point) {
  for (int64_t sequence = 0; sequence < point.rows; ++sequence) driver.begin(sequence, options.depth + 1);
  driver.decode(point.rows, options.depth);  // takes the pages and wakes the threads
  for (int64_t step = 1; step <= options.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    driver.decode(point.rows, options.depth + step);
    point.step_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
}

void fill_results(const model::Model& model, const Ceilings& ceilings, RowsReport& report, int64_t position) {
  const contract::ModelShape shape = packed_shape(model);
  const bool is_known = ceilings.int8_per_s > 0 && ceilings.float_per_s > 0 && ceilings.read_bytes_per_s > 0;
  const cost::RooflineCost cost(shape, ideal_rates(ceilings));
  for (RowsPoint& point : report.points) {
    const auto rows = static_cast<double>(point.rows);
    point.step_us_median = median(point.step_us);
    point.tokens_per_s = rows * 1e6 / point.step_us_median;
    if (is_known)
      point.predicted_tokens_per_s =
          rows * 1e6 / static_cast<double>(cost.predict(decode_plan(point.rows, position)).count());
    const StepWork work = work_of_step(model, ranges_of(point.rows, position), point.rows);
    point.mfu = mfu_percent(work, point.step_us_median * 1e-6, ceilings);
    point.mbu = mbu_percent(work, point.step_us_median * 1e-6, ceilings);
  }
  if (is_known)
    report.knee_predicted = static_cast<double>(shape.weight_bytes.count()) / ceilings.read_bytes_per_s *
                            ceilings.int8_per_s /
                            (2.0 * static_cast<double>(shape.weights_linear + shape.weights_output));
  report.knee_measured = measured_knee(report.points);
}

}  // namespace

double measured_knee(const std::vector<RowsPoint>& points) {
  if (points.front().rows != 1 || points.front().tokens_per_s <= 0) return 0;
  double best = 0;
  for (const RowsPoint& point : points) best = std::max(best, point.tokens_per_s);
  return best / points.front().tokens_per_s;
}

RowsReport measure_rows(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, const Roofline& roofline,
                        const RowsOptions& options) {
  RowsReport report{
      model->shape.name, std::string(model->kernel_set->name), pool.thread_count(), options.depth, {}, 0, 0};
  for (int64_t rows : options.row_counts) report.points.push_back({rows, {}, 0, 0, 0, 0, 0});
  const int64_t rows_max = options.row_counts.back();
  EngineDriver driver(model, pool,
                      {rows_max, options.depth + options.steps + 2, std::max(rows_max, kPrefillChunk), false});
  for (int64_t sequence = 0; options.depth > 0 && sequence < rows_max; ++sequence) {
    driver.begin(sequence, options.depth);
    driver.prefill(sequence, 0, options.depth, kPrefillChunk);
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition)
    for (RowsPoint& point : report.points) time_steps(driver, options, point);
  fill_results(*model, ceilings_of(roofline, model->kernel_set->name, pool.thread_count()), report,
               options.depth + (options.steps + 1) / 2);
  return report;
}

std::string rows_table(const RowsReport& report) {
  char line[200];
  std::snprintf(line, sizeof line, "%s, %s, %d threads, depth %lld\n\n", report.model.c_str(),
                report.kernel_set.c_str(), report.threads, static_cast<long long>(report.depth));
  std::string text = line;
  text +=
      "| rows | step ms | total tokens/s | per user | roofline total | of it |    MBU |    MFU |\n"
      "| ---: | ------: | -------------: | -------: | -------------: | ----: | -----: | -----: |\n";
  for (const RowsPoint& point : report.points) {
    std::snprintf(line, sizeof line, "| %4lld | %7.2f | %14.1f | %8.1f | %14.1f | %3.0f %% | %4.0f %% | %4.0f %% |\n",
                  static_cast<long long>(point.rows), point.step_us_median / 1000, point.tokens_per_s,
                  point.tokens_per_s / static_cast<double>(point.rows), point.predicted_tokens_per_s,
                  share_percent(point.tokens_per_s, point.predicted_tokens_per_s), point.mbu, point.mfu);
    text += line;
  }
  text += "\nThe knee, where decode turns from memory-bound to compute-bound:";
  std::snprintf(line, sizeof line, " at %.1f rows by the roofline", report.knee_predicted);
  if (report.knee_predicted > 0) text += line;
  std::snprintf(line, sizeof line, "%s at %.1f rows as measured", report.knee_predicted > 0 ? "," : "",
                report.knee_measured);
  text += report.knee_measured > 0 ? line : "";
  return text + "\n";
}

std::string rows_json(const RowsReport& report) {
  boost::json::array points;
  for (const RowsPoint& point : report.points) {
    boost::json::array samples;
    for (const double us : point.step_us) samples.emplace_back(us);
    points.push_back(
        boost::json::object{{"rows", point.rows},
                            {"step_us_median", point.step_us_median},
                            {"tokens_per_s", point.tokens_per_s},
                            {"tokens_per_s_per_user", point.tokens_per_s / static_cast<double>(point.rows)},
                            {"predicted_tokens_per_s", point.predicted_tokens_per_s},
                            {"mbu_percent", point.mbu},
                            {"mfu_percent", point.mfu},
                            {"step_us", std::move(samples)}});
  }
  return boost::json::serialize(boost::json::object{{"model", report.model},
                                                    {"kernels", report.kernel_set},
                                                    {"threads", report.threads},
                                                    {"depth", report.depth},
                                                    {"knee_rows_predicted", report.knee_predicted},
                                                    {"knee_rows_measured", report.knee_measured},
                                                    {"points", std::move(points)}}) +
         "\n";
}

}  // namespace takt::apps
