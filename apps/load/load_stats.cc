#include "load/load_stats.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

namespace takt::apps {
namespace {

constexpr double kUsPerMs = 1000;

std::optional<base::Micros> duration(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double us = unit == "s" ? 1e6 : unit == "ms" ? 1e3 : unit == "us" ? 1 : 0;
  if (error != std::errc{} || us == 0 || !(value * us >= 1 && value * us <= 1e15)) return {};
  return base::Micros(std::llround(value * us));
}

int64_t tokens_of(const Reply& reply) {
  const auto chunks = static_cast<int64_t>(reply.chunks.size());
  return reply.completion_tokens.value_or(reply.chunks.empty() ? 0 : reply.chunks.back().tokens_total.value_or(chunks));
}

double relative_error(std::optional<int64_t> got, uint32_t wanted) {
  return got && wanted > 0 ? std::abs(static_cast<double>(*got) / wanted - 1) : 0;
}

// Everything that is a list before it is a figure.
struct Samples {
  std::vector<WeightedValue> ttft, itl, itl_mean, gap_longest, end_to_end, sent_late;
};

void judge(const Reply& reply, const LoadLimits& limits, LoadSummary& summary) {
  if (!reply.is_answered()) return;
  const auto itl = mean_itl_us(reply);
  const auto gap = longest_gap(reply);
  const bool is_late = limits.ttft && *ttft(reply) > *limits.ttft;
  const bool is_slow = limits.itl_mean && itl && *itl > static_cast<double>(limits.itl_mean->count());
  const bool is_stalled = limits.gap_max && gap && *gap > *limits.gap_max;
  summary.late_first += is_late;
  summary.slow += is_slow;
  summary.stalled += is_stalled;
  summary.within += !is_late && !is_slow && !is_stalled;
}

void add(const LoadRecord& record, Samples& samples, LoadSummary& summary) {
  const Reply& reply = record.reply;
  samples.sent_late.push_back({static_cast<double>((reply.sent - reply.scheduled).count()) / kUsPerMs});
  if (!reply.error_kind.empty()) {
    ++summary.errors[reply.error_kind];
    summary.error_example.emplace(reply.error_kind, reply.error);
    return;
  }
  if (!reply.is_answered()) return;
  ++summary.answered;
  samples.ttft.push_back({static_cast<double>(ttft(reply)->count()) / kUsPerMs});
  for (const TokenGap& gap : token_gaps(reply)) samples.itl.push_back({gap.us_per_token / kUsPerMs, gap.tokens});
  if (const auto itl = mean_itl_us(reply)) samples.itl_mean.push_back({*itl / kUsPerMs});
  if (const auto gap = longest_gap(reply))
    samples.gap_longest.push_back({static_cast<double>(gap->count()) / kUsPerMs});
  samples.end_to_end.push_back({static_cast<double>((reply.ended - reply.scheduled).count()) / kUsPerMs});
  summary.prompt_tokens += static_cast<uint64_t>(reply.prompt_tokens.value_or(0));
  summary.cached_tokens += static_cast<uint64_t>(reply.cached_tokens.value_or(0));
  summary.output_tokens += static_cast<uint64_t>(tokens_of(reply));
  summary.without_usage += !reply.completion_tokens;
  summary.prompt_length_error += relative_error(reply.prompt_tokens, record.wanted_prompt_tokens);
  summary.output_length_error += relative_error(reply.completion_tokens, record.wanted_output_tokens);
}

}  // namespace

base::Result<LoadLimits> parse_limits(const std::string& text) {
  LoadLimits limits;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t sign = part.find('=');
    const std::string_view name = part.substr(0, sign);
    auto* limit = name == "ttft"  ? &limits.ttft
                  : name == "itl" ? &limits.itl_mean
                  : name == "gap" ? &limits.gap_max
                                  : nullptr;
    const auto value = sign == std::string_view::npos ? std::nullopt : duration(part.substr(sign + 1));
    if (limit == nullptr || !value)
      return base::Error{base::ErrorCode::invalid_argument,
                         "'" + std::string(part) +
                             "': expected ttft, itl (the mean) or gap (the longest) with a time, as in "
                             "ttft=3s,itl=150ms,gap=1s"};
    *limit = *value;
  }
  return limits;
}

Distribution distribution_of(std::vector<WeightedValue> values) {
  Distribution result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  double sum = 0;
  for (const WeightedValue& one : values) {
    result.weight += one.weight;
    sum += one.value * one.weight;
  }
  result.mean = sum / result.weight;
  result.max = values.back().value;
  const std::pair<double, double*> wanted[] = {
      {0.50, &result.p50}, {0.90, &result.p90}, {0.95, &result.p95}, {0.99, &result.p99}};
  for (const auto& [share, into] : wanted) {
    double below = 0;
    *into = result.max;
    for (const WeightedValue& one : values) {
      below += one.weight;
      // Sums of weights such as 1.1 are not exact; a rank must not slip for that.
      if (below >= share * result.weight * (1 - 1e-12)) {
        *into = one.value;
        break;
      }
    }
  }
  return result;
}

LoadSummary summarise(const std::vector<LoadRecord>& records, const LoadLimits& limits) {
  LoadSummary summary;
  summary.requests = records.size();
  if (records.empty()) return summary;
  Samples samples;
  base::Micros begin = records.front().reply.scheduled, end = records.front().reply.ended;
  for (const LoadRecord& record : records) {
    begin = std::min(begin, record.reply.scheduled);
    end = std::max(end, record.reply.ended);
    add(record, samples, summary);
    judge(record.reply, limits, summary);
  }
  summary.duration_s = std::max(static_cast<double>((end - begin).count()) / 1e6, 1e-6);
  summary.ttft = distribution_of(std::move(samples.ttft));
  summary.itl = distribution_of(std::move(samples.itl));
  summary.itl_mean = distribution_of(std::move(samples.itl_mean));
  summary.gap_longest = distribution_of(std::move(samples.gap_longest));
  summary.end_to_end = distribution_of(std::move(samples.end_to_end));
  summary.sent_late = distribution_of(std::move(samples.sent_late));
  summary.requests_per_s = static_cast<double>(summary.answered) / summary.duration_s;
  summary.output_tokens_per_s = static_cast<double>(summary.output_tokens) / summary.duration_s;
  summary.prompt_tokens_per_s = static_cast<double>(summary.prompt_tokens) / summary.duration_s;
  summary.prompt_length_error /= static_cast<double>(std::max<uint64_t>(summary.answered, 1));
  summary.output_length_error /= static_cast<double>(std::max<uint64_t>(summary.answered, 1));
  summary.within_share = static_cast<double>(summary.within) / static_cast<double>(summary.requests);
  summary.goodput_rps = static_cast<double>(summary.within) / summary.duration_s;
  return summary;
}

}  // namespace takt::apps
