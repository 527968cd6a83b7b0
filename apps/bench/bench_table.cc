#include "bench/bench_table.h"

#include <boost/json.hpp>

#include <cmath>
#include <cstdio>
#include <ctime>

#include "bench/step_work.h"

namespace takt::apps {
namespace {

std::string quoted(const std::string& text) { return boost::json::serialize(boost::json::value(text)); }

std::string utc_now() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string text = "[ ";
  char number[40];
  for (const T& value : values) {
    std::snprintf(number, sizeof number, "%s%.10g", text.size() > 2 ? ", " : "", static_cast<double>(value));
    text += number;
  }
  return text + " ]";
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

std::string test_name(const ThroughputTest& test, base::KvFormats kv) {
  std::string name;
  if (test.prompt_tokens > 0) name = "pp" + std::to_string(test.prompt_tokens);
  if (test.generated_tokens > 0)
    name += std::string(name.empty() ? "" : "+") + "tg" + std::to_string(test.generated_tokens);
  if (test.depth_tokens > 0) name += " @ d" + std::to_string(test.depth_tokens);
  if (!(kv == base::KvFormats{})) name += " " + base::kv_formats_name(kv);
  return name;
}

void mean_and_deviation(const std::vector<double>& values, double& mean, double& deviation) {
  mean = deviation = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return;
  for (double value : values) deviation += (value - mean) * (value - mean) / static_cast<double>(values.size() - 1);
  deviation = std::sqrt(deviation);
}

}  // namespace

BenchTable::BenchTable(std::string format, std::string model_path, const model::Model& model, Roofline roofline)
    : format_(std::move(format)), model_path_(std::move(model_path)), model_(model), roofline_(std::move(roofline)) {}

BenchTable::Statistics BenchTable::statistics(const ThroughputResult& result) const {
  Statistics statistics{};
  std::vector<double> times;
  for (int64_t ns : result.samples_ns) {
    times.push_back(static_cast<double>(ns));
    statistics.rates.push_back(static_cast<double>(result.test.prompt_tokens + result.test.generated_tokens) * 1e9 /
                               static_cast<double>(ns));
  }
  mean_and_deviation(times, statistics.average_ns, statistics.deviation_ns);
  mean_and_deviation(statistics.rates, statistics.average_rate, statistics.deviation_rate);
  const ThroughputTest& test = result.test;
  const Ceilings ceilings = ceilings_of(roofline_, model_.kernel_set->name, result.threads);
  const double seconds = statistics.average_ns * 1e-9;
  const int64_t chunk = std::max<int64_t>(1, std::min(test.chunk_tokens, test.batch_tokens));
  if (test.generated_tokens == 0)
    statistics.mfu = mfu_percent(
        work_of_prefill(model_, test.depth_tokens, test.depth_tokens + test.prompt_tokens, chunk), seconds, ceilings);
  if (test.prompt_tokens == 0)
    statistics.mbu = mbu_percent(work_of_decode(model_, test.depth_tokens, test.generated_tokens), seconds, ceilings);
  return statistics;
}

void BenchTable::add_markdown(const ThroughputResult& result, const Statistics& statistics) const {
  if (row_count_ == 0)
    std::printf(
        "| %-30s | %10s | %10s | %-10s | %7s | %15s | %20s | %10s |\n| %s | ---------: | ---------: | ---------- | "
        "------: | --------------: | -------------------: | ---------: |\n",
        "model", "size", "params", "backend", "threads", "test", "t/s", "of ceiling", "------------------------------");
  const double parameters = static_cast<double>(model_.shape.weights_linear + model_.shape.weights_output);
  char size[32], count[32], rate[48], share[32] = "";
  std::snprintf(size, sizeof size, "%.2f MiB", static_cast<double>(model_.file->file_bytes()) / (1 << 20));
  std::snprintf(count, sizeof count, "%.2f M", parameters / 1e6);
  std::snprintf(rate, sizeof rate, "%.2f ± %.2f", statistics.average_rate, statistics.deviation_rate);
  if (statistics.mfu > 0) std::snprintf(share, sizeof share, "%.1f %% MFU", statistics.mfu);
  if (statistics.mbu > 0) std::snprintf(share, sizeof share, "%.1f %% MBU", statistics.mbu);
  std::printf("| %-30s | %10s | %10s | %-10s | %7d | %15s | %21s | %10s |\n", model_.shape.name.c_str(), size, count,
              std::string(model_.kernel_set->name).c_str(), result.threads, test_name(result.test, model_.kv).c_str(),
              rate, share);
}

std::vector<std::pair<std::string, std::string>> BenchTable::fields(const ThroughputResult& result,
                                                                    const Statistics& statistics) const {
  const ThroughputTest& test = result.test;
  return {{"build_commit", quoted(TAKT_VERSION)},
          {"build_number", "0"},
          {"cpu_info", quoted(processor_name())},
          {"gpu_info", "\"\""},
          {"backends", quoted(std::string(model_.kernel_set->name))},
          {"model_filename", quoted(model_path_)},
          {"model_type", quoted(model_.shape.name)},
          {"model_size", std::to_string(model_.file->file_bytes())},
          {"model_n_params", std::to_string(model_.shape.weights_linear + model_.shape.weights_output)},
          {"n_batch", std::to_string(test.batch_tokens)},
          {"n_ubatch", std::to_string(test.chunk_tokens)},
          {"n_threads", std::to_string(result.threads)},
          {"type_k", quoted(std::string(base::kv_format_name(model_.kv.keys)))},
          {"type_v", quoted(std::string(base::kv_format_name(model_.kv.values)))},
          {"n_prompt", std::to_string(test.prompt_tokens)},
          {"n_gen", std::to_string(test.generated_tokens)},
          {"n_depth", std::to_string(test.depth_tokens)},
          {"test_time", quoted(utc_now())},
          {"avg_ns", std::to_string(static_cast<int64_t>(statistics.average_ns))},
          {"stddev_ns", std::to_string(static_cast<int64_t>(statistics.deviation_ns))},
          {"avg_ts", number_text(statistics.average_rate)},
          {"stddev_ts", number_text(statistics.deviation_rate)},
          {"mfu_percent", number_text(statistics.mfu)},
          {"mbu_percent", number_text(statistics.mbu)},
          {"samples_ns", list_text(result.samples_ns)},
          {"samples_ts", list_text(statistics.rates)}};
}

void BenchTable::add(const ThroughputResult& result) {
  const Statistics numbers = statistics(result);
  if (format_ == "md") {
    add_markdown(result, numbers);
  } else {
    const auto columns = fields(result, numbers);
    const bool is_csv = format_ == "csv";
    if (is_csv && row_count_ == 0)
      for (size_t i = 0; i + 2 < columns.size(); ++i)
        std::printf("%s%s", columns[i].first.c_str(), i + 3 < columns.size() ? "," : "\n");
    if (format_ == "json") std::printf(row_count_ == 0 ? "[\n  " : ",\n  ");
    const size_t shown = is_csv ? columns.size() - 2 : columns.size();  // csv has no lists
    std::printf(is_csv ? "" : "{");
    for (size_t i = 0; i < shown; ++i) {
      if (!is_csv) std::printf("%s\"%s\": ", i == 0 ? "" : ", ", columns[i].first.c_str());
      std::printf("%s%s", columns[i].second.c_str(), is_csv && i + 1 < shown ? "," : "");
    }
    std::printf(is_csv ? "\n" : format_ == "json" ? "}" : "}\n");
  }
  std::fflush(stdout);
  ++row_count_;
}

void BenchTable::finish() {
  if (format_ == "json") std::printf(row_count_ == 0 ? "[]\n" : "\n]\n");
}

}  // namespace takt::apps
