#include "load/load_report.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cmath>
#include <cstdio>

namespace takt::apps {
namespace {

namespace json = boost::json;

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

uint64_t error_count(const LoadSummary& summary) {
  uint64_t count = 0;
  for (const auto& [kind, times] : summary.errors) count += times;
  return count;
}

std::string load_name(const LoadReport& report, double load) {
  if (report.process == "trace") return "trace";
  return print(report.process == "closed" ? "%.0f clients" : "%.3g /s", load);
}

json::object to_json(const Distribution& values) {
  return {{"count", values.weight}, {"mean", values.mean}, {"p50", values.p50}, {"p90", values.p90},
          {"p95", values.p95},      {"p99", values.p99},   {"max", values.max}};
}

json::object to_json(const LoadSummary& summary) {
  json::object errors, examples;
  for (const auto& [kind, count] : summary.errors) errors[kind] = count;
  for (const auto& [kind, text] : summary.error_example) examples[kind] = text;
  return {{"requests", summary.requests},
          {"answered", summary.answered},
          {"errors", std::move(errors)},
          {"error_examples", std::move(examples)},
          {"duration_s", summary.duration_s},
          {"ttft_ms", to_json(summary.ttft)},
          {"itl_ms", to_json(summary.itl)},
          {"itl_mean_ms", to_json(summary.itl_mean)},
          {"gap_longest_ms", to_json(summary.gap_longest)},
          {"end_to_end_ms", to_json(summary.end_to_end)},
          {"sent_late_ms", to_json(summary.sent_late)},
          {"requests_per_s", summary.requests_per_s},
          {"prompt_tokens_per_s", summary.prompt_tokens_per_s},
          {"output_tokens_per_s", summary.output_tokens_per_s},
          {"prompt_tokens", summary.prompt_tokens},
          {"cached_tokens", summary.cached_tokens},
          {"output_tokens", summary.output_tokens},
          {"without_usage", summary.without_usage},
          {"prompt_length_error", summary.prompt_length_error},
          {"output_length_error", summary.output_length_error},
          {"within_limits", summary.within},
          {"within_share", summary.within_share},
          {"broke_ttft", summary.late_first},
          {"broke_itl", summary.slow},
          {"broke_gap", summary.stalled},
          {"goodput_rps", summary.goodput_rps}};
}

std::string limits_text(const LoadLimits& limits) {
  std::string text;
  const auto add = [&text](const char* name, const std::optional<base::Micros>& limit) {
    if (limit) text += print("%s%s ≤ %g ms", text.empty() ? "" : ", ", name, static_cast<double>(limit->count()) / 1e3);
  };
  add("TTFT", limits.ttft);
  add("mean ITL", limits.itl_mean);
  add("longest gap", limits.gap_max);
  return text;
}

// What the reader must know about one point beyond its line.
std::string notes(const std::string& name, const LoadSummary& summary) {
  std::string text;
  for (const auto& [kind, count] : summary.errors)
    text += print("%s: %llu × %s (%s)\n", name.c_str(), static_cast<unsigned long long>(count), kind.c_str(),
                  summary.error_example.at(kind).c_str());
  if (summary.without_usage > 0)
    text += print("%s: %llu answers came without usage; one token a chunk is assumed\n", name.c_str(),
                  static_cast<unsigned long long>(summary.without_usage));
  if (summary.prompt_length_error > 0.02 || summary.output_length_error > 0.02)
    text += print("%s: prompts differ from the wanted length by %.1f %%, answers by %.1f %% (by the server's usage)\n",
                  name.c_str(), summary.prompt_length_error * 100, summary.output_length_error * 100);
  // A client that cannot keep up measures itself.
  if (summary.sent_late.p99 > 5)
    text += print("%s: this client sent late, by %.1f ms (P99): the machine is too busy to be measured from itself\n",
                  name.c_str(), summary.sent_late.p99);
  return text;
}

}  // namespace

std::string load_table(const LoadReport& report) {
  std::string out =
      "| load | requests | errors | TTFT P50 ms | P99 | ITL P50 ms | P99 | longest gap ms | prompt tok/s | output "
      "tok/s | "
      "within | goodput /s |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  std::string below;
  for (const LoadPoint& point : report.points) {
    const LoadSummary& sum = point.summary;
    const std::string name = load_name(report, point.load);
    out += print("| %s | %llu | %llu | %.0f | %.0f | %.1f | %.1f | %.0f | %.1f | %.1f | ", name.c_str(),
                 static_cast<unsigned long long>(sum.requests), static_cast<unsigned long long>(error_count(sum)),
                 sum.ttft.p50, sum.ttft.p99, sum.itl.p50, sum.itl.p99, sum.gap_longest.max, sum.prompt_tokens_per_s,
                 sum.output_tokens_per_s);
    out += report.limits.is_empty() ? "– | – |\n" : print("%.3f | %.3f |\n", sum.within_share, sum.goodput_rps);
    below += notes(name, sum);
  }
  if (!below.empty()) out += "\n" + below;
  if (!report.limits.is_empty()) out += "\nwithin: of all requests sent, " + limits_text(report.limits) + "\n";
  if (report.is_search)
    out += report.highest_rate ? print("highest rate that keeps the limits: %.3g requests/s\n", *report.highest_rate)
                               : "no rate that was tried keeps the limits\n";
  return out;
}

std::string load_json(const LoadReport& report) {
  json::array points;
  for (const LoadPoint& point : report.points) {
    json::object one = to_json(point.summary);
    one["load"] = point.load;
    points.push_back(std::move(one));
  }
  json::object limits;
  const auto add = [&limits](const char* name, const std::optional<base::Micros>& limit) {
    if (limit) limits[name] = static_cast<double>(limit->count()) / 1e3;
  };
  add("ttft_ms", report.limits.ttft);
  add("itl_mean_ms", report.limits.itl_mean);
  add("gap_longest_ms", report.limits.gap_max);
  json::object all{{"url", report.url},
                   {"model", report.model},
                   {"process", report.process},
                   {"limits", std::move(limits)},
                   {"points", std::move(points)}};
  if (report.is_search) all["highest_rate_rps"] = report.highest_rate ? json::value(*report.highest_rate) : nullptr;
  return json::serialize(all) + "\n";
}

std::string figures_json(const std::string& scenario, const Figures& figures) {
  json::object all{{"scenario", scenario}};
  for (const auto& [name, value] : figures)
    all[name] = std::isfinite(value) ? json::value(value) : json::value(nullptr);
  return json::serialize(all) + "\n";
}

std::string figures_table(const std::string& scenario, const Figures& figures) {
  std::string out = "| " + scenario + " | |\n| --- | ---: |\n";
  for (const auto& [name, value] : figures) out += print("| %s | %.6g |\n", name.c_str(), value);
  return out;
}

}  // namespace takt::apps
