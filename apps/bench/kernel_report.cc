#include "bench/kernel_report.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

namespace takt::apps {

std::string table_header() {
  char text[256];
  std::snprintf(text, sizeof text, "| %-46s | %7s | %10s | %8s | %7s | %-16s | %8s |\n", "kernel", "threads", "time us",
                "GOP/s", "GB/s", "of ceiling", "x ref");
  return std::string(text) +
         "| ---------------------------------------------- | ------: | ---------: | -------: | ------: | "
         "---------------- | -------: |\n";
}

std::string table_line(const KernelFigure& figure) {
  char text[256], share[32], reference[16] = "", operations[16] = "";
  std::snprintf(share, sizeof share, "%5.1f %% %s", figure.share_percent, std::string(name(figure.bound)).c_str());
  if (figure.times_reference > 0) std::snprintf(reference, sizeof reference, "%.1f", figure.times_reference);
  if (figure.operations > 0) std::snprintf(operations, sizeof operations, "%.1f", figure.operations_per_s() * 1e-9);
  std::snprintf(text, sizeof text, "| %-46s | %7d | %10.2f | %8s | %7.1f | %-16s | %8s |\n", figure.name.c_str(),
                figure.threads, figure.seconds * 1e6, operations, figure.bytes_per_s() * 1e-9, share, reference);
  return text;
}

std::string to_json(const KernelRun& run) {
  boost::json::array figures;
  for (const KernelFigure& figure : run.figures)
    figures.push_back(boost::json::object{{"name", figure.name},
                                          {"threads", figure.threads},
                                          {"seconds", figure.seconds},
                                          {"operations", figure.operations},
                                          {"bytes", figure.bytes},
                                          {"share_percent", figure.share_percent},
                                          {"bound", std::string(name(figure.bound))},
                                          {"times_reference", figure.times_reference}});
  return boost::json::serialize(boost::json::object{{"processor", run.processor},
                                                    {"kernels", run.kernel_set},
                                                    {"threads", run.threads},
                                                    {"figures", std::move(figures)}}) +
         "\n";
}

base::Result<KernelRun> kernel_run_of_json(std::string_view text) {
  boost::json::error_code parse_error;
  const boost::json::value value = boost::json::parse(boost::json::string_view(text.data(), text.size()), parse_error);
  if (parse_error) return base::Error{base::ErrorCode::invalid_file, "no JSON: " + parse_error.message()};
  try {
    KernelRun run;
    run.processor = value.at("processor").as_string().c_str();
    run.kernel_set = value.at("kernels").as_string().c_str();
    run.threads = value.at("threads").to_number<int>();
    for (const auto& entry : value.at("figures").as_array()) {
      KernelFigure figure;
      figure.name = entry.at("name").as_string().c_str();
      figure.threads = entry.at("threads").to_number<int>();
      figure.seconds = entry.at("seconds").to_number<double>();
      figure.operations = entry.at("operations").to_number<double>();
      figure.bytes = entry.at("bytes").to_number<double>();
      if (!(figure.seconds > 0))
        return base::Error{base::ErrorCode::invalid_file, "seconds of '" + figure.name + "': expected more than 0"};
      run.figures.push_back(std::move(figure));
    }
    return run;
  } catch (const std::exception& error) {  // a field is missing or of another type
    return base::Error{base::ErrorCode::invalid_file,
                       std::string("not a run of `takt bench kernels`: ") + error.what()};
  }
}

std::string why_not_comparable(const KernelRun& now, const KernelRun& before) {
  if (now.processor != before.processor) return "it is of another processor (" + before.processor + ")";
  if (now.kernel_set != before.kernel_set) return "it is of the kernels '" + before.kernel_set + "'";
  if (now.threads != before.threads) return "it is of " + std::to_string(before.threads) + " threads";
  return {};
}

std::vector<Slowdown> slowdowns(const KernelRun& now, const KernelRun& before, double noise_percent) {
  std::map<std::string, double> seconds_before;
  for (const KernelFigure& figure : before.figures) seconds_before[figure.name] = figure.seconds;
  std::vector<Slowdown> out;
  for (const KernelFigure& figure : now.figures) {
    const auto found = seconds_before.find(figure.name);
    if (found == seconds_before.end()) continue;
    const double percent = 100 * found->second / figure.seconds;
    if (percent < 100 - noise_percent) out.push_back({figure.name, percent});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Slowdown& a, const Slowdown& b) { return a.speed_percent < b.speed_percent; });
  return out;
}

}  // namespace takt::apps
