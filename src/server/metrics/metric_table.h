// The metric dictionary: every figure that Takt shows has its name, unit, meaning and buckets here and nowhere else. /metrics, the
// replies' timings, the bench and docs/METRICS.md (`takt metrics`) read this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace takt::server {

enum class MetricKind : uint8_t { counter, gauge, histogram };
std::string_view name(MetricKind kind);

enum class MetricGroup : uint8_t { latency, tokens, requests, scheduler, cache, steps, load, vllm, llamacpp };

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  MetricGroup group;
  std::string_view labels;   // separated by ", "; empty: none
  std::string_view formula;  // one sentence: also the help text
  std::string_view in_api;   // its name in a reply's `timings` or in `takt bench serve`; empty: not there
};
std::span<const MetricInfo> metrics();
// Precondition: it is in the table.
const MetricInfo& metric(std::string_view name);

// Bucket bounds of every histogram of times, in seconds: 1 ms to 100 s, about two to an octave, so that the steps of a CPU and of
// a GPU can be told apart.
std::span<const double> second_buckets();
// Of histograms of token counts.
std::span<const double> token_buckets();
// Of the ratio of what was to what was foretold.
std::span<const double> ratio_buckets();

// docs/METRICS.md.
std::string metrics_markdown();

}  // namespace takt::server
