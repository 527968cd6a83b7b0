#include "load/load_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <optional>
#include <string_view>

#include "worlds/sim/trace_files.h"

namespace takt::apps {
namespace {

constexpr uint32_t kTokensMax = 1 << 24;

base::Error invalid(const std::string& what) { return {base::ErrorCode::invalid_argument, what}; }

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = text.find(':');
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::optional<uint32_t> tokens(std::string_view text) {
  const auto value = number<uint32_t>(text);
  return value && *value >= 1 && *value <= kTokensMax ? value : std::nullopt;
}

base::Micros micros(double seconds) { return base::Micros(std::llround(std::min(seconds, 1e9) * 1e6)); }

double next_gap_s(const LoadSpec& spec, worlds::Random& random) {
  switch (spec.process) {
    case LoadProcess::poisson: return random.exponential() / spec.requests_per_s;
    case LoadProcess::gamma: return random.gamma(1 / (spec.burstiness * spec.burstiness)) / spec.requests_per_s;
    case LoadProcess::closed: return 0;
  }
  return 0;
}

}  // namespace

uint32_t LengthSpec::draw(worlds::Random& random) const {
  switch (kind) {
    case Kind::fixed: return min;
    case Kind::uniform: return random.between(min, max);
    case Kind::log_normal: {
      const double value = std::round(median * std::exp(sigma * random.normal()));
      return static_cast<uint32_t>(std::clamp(value, static_cast<double>(min), static_cast<double>(max)));
    }
  }
  return min;
}

base::Result<LengthSpec> parse_length(const std::string& text) {
  const auto words = split(text);
  LengthSpec spec;
  if (words.size() == 1) {
    const auto count = tokens(words[0]);
    if (count) spec.min = spec.max = *count;
    if (count) return spec;
  } else if (words.size() == 3 && words[0] == "uniform") {
    const auto min = tokens(words[1]), max = tokens(words[2]);
    if (min && max && *min <= *max) return LengthSpec{LengthSpec::Kind::uniform, *min, *max, 1, 0};
  } else if (words.size() == 5 && words[0] == "lognormal") {
    const auto median = number<double>(words[1]), sigma = number<double>(words[2]);
    const auto min = tokens(words[3]), max = tokens(words[4]);
    if (median && *median >= 1 && *median <= kTokensMax && sigma && *sigma >= 0 && *sigma <= 5 && min && max &&
        *min <= *max)
      return LengthSpec{LengthSpec::Kind::log_normal, *min, *max, *median, *sigma};
  }
  return invalid("'" + text +
                 "': expected tokens as in 512, uniform:64:1024 or lognormal:200:1.0:16:3000 (median, sigma, least, "
                 "most)");
}

base::Status check(const LoadSpec& spec) {
  const auto is_within = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!is_within(spec.requests_per_s, 1e-6, 1e6)) return invalid("the rate must be in [0.000001, 1000000] requests/s");
  if (!is_within(spec.burstiness, 0.01, 100)) return invalid("--burstiness must be in [0.01, 100]");
  if (!is_within(spec.think_s_mean, 0, 1e6)) return invalid("--think must be in [0, 1000000] s");
  if (spec.request_count < 1) return invalid("--requests must be at least 1");
  if (spec.turns < 1 || spec.turns > 1000) return invalid("--turns must be in [1, 1000]");
  if (spec.shared_groups < 1) return invalid("--shared-prefixes must be at least 1");
  if (spec.shared_tokens > 0 && spec.shared_tokens >= spec.prompt.min)
    return invalid("--shared-prefix must be shorter than the shortest prompt (" + std::to_string(spec.prompt.min) +
                   " tokens)");
  return {};
}

LoadPlan make_load_plan(const LoadSpec& spec) {
  // Two sources, so that lengths do not depend on how arrivals are drawn.
  worlds::Random times(spec.seed), lengths(spec.seed ^ 0x6c656e67746873u);
  LoadPlan plan;
  double at_s = 0;
  for (uint32_t made = 0; made < spec.request_count;) {
    PlannedConversation conversation;
    at_s += next_gap_s(spec, times);
    conversation.at = micros(at_s);
    conversation.shared_tokens = spec.shared_tokens;
    conversation.shared_group = lengths.below(spec.shared_groups);
    for (uint32_t turn = 0; turn < spec.turns && made < spec.request_count; ++turn, ++made) {
      PlannedTurn planned;
      planned.prompt_tokens = spec.prompt.draw(lengths);
      planned.output_tokens = spec.output.draw(lengths);
      planned.think = micros(lengths.exponential() * spec.think_s_mean);
      conversation.turns.push_back(planned);
    }
    plan.push_back(std::move(conversation));
  }
  return plan;
}

base::Result<LoadPlan> read_load_trace(std::istream& in, double time_scale, uint32_t request_count,
                                       uint32_t tokens_max) {
  auto arrivals = in.peek() == '{' ? worlds::parse_mooncake_jsonl(in) : worlds::parse_azure_csv(in);
  if (!arrivals) return arrivals.error();
  LoadPlan plan;
  const uint32_t most = tokens_max > 0 ? tokens_max : kTokensMax;
  for (const worlds::Arrival& arrival : *arrivals) {
    if (plan.size() == request_count) break;
    PlannedConversation conversation;
    conversation.at = micros(static_cast<double>(arrival.at.count()) / 1e6 * time_scale);
    conversation.turns.push_back(
        {std::min(arrival.prompt_tokens, most), std::min(arrival.output_tokens, most), base::Micros()});
    if (arrival.blocks) conversation.blocks = *arrival.blocks;
    plan.push_back(std::move(conversation));
  }
  if (plan.empty()) return invalid("the trace has no request");
  return plan;
}

}  // namespace takt::apps
