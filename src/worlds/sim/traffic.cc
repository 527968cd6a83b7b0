#include "worlds/sim/traffic.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace takt::worlds {

std::shared_ptr<const std::vector<contract::TokenId>> make_prompt(const Arrival& arrival, uint64_t number) {
  if (arrival.prompt) return arrival.prompt;
  // Token ids are not negative; which ones they are decides nothing but what is equal.
  if (!arrival.blocks) {
    const auto token = static_cast<contract::TokenId>(number & INT32_MAX);
    return std::make_shared<const std::vector<contract::TokenId>>(arrival.prompt_tokens, token);
  }
  std::vector<contract::TokenId> tokens(arrival.prompt_tokens);
  for (uint32_t i = 0; i < arrival.prompt_tokens; ++i) {
    // Knuth's multiplicative hash: names of blocks stay apart in the upper bits.
    const uint32_t block = (*arrival.blocks)[i / kPromptBlockTokens] * 2654435761u;
    tokens[i] = static_cast<contract::TokenId>((block ^ i % kPromptBlockTokens) & INT32_MAX);
  }
  return std::make_shared<const std::vector<contract::TokenId>>(std::move(tokens));
}

TraceTraffic::TraceTraffic(std::vector<Arrival> arrivals) : arrivals_(std::move(arrivals)) {
  std::stable_sort(arrivals_.begin(), arrivals_.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
}

base::Status check(const TrafficSpec& spec) {
  const auto invalid = [](const char* what) { return base::Error{base::ErrorCode::invalid_argument, what}; };
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!is_positive(spec.requests_per_s)) return invalid("the rate must be above 0 requests per second");
  if (!is_positive(spec.burstiness) || spec.burstiness > 100) return invalid("the burstiness must be in (0, 100]");
  if (!(spec.think_s_mean >= 0 && spec.think_s_mean <= 1e6)) return invalid("the think time must be in [0, 1000000] s");
  if (!(spec.prompt_tokens_mean >= 1 && spec.prompt_tokens_mean <= 1e7)) {
    return invalid("the mean prompt must be in [1, 10000000] tokens");
  }
  if (!(spec.output_tokens_mean >= 1 && spec.output_tokens_mean <= 1e7)) {
    return invalid("the mean answer must be in [1, 10000000] tokens");
  }
  if (!(spec.length_sigma >= 0 && spec.length_sigma <= 3)) return invalid("the spread of lengths must be in [0, 3]");
  if (spec.tokens_max < 2) return invalid("requests must be allowed 2 tokens at least");
  if (spec.clients == 0) return invalid("a closed loop needs 1 client at least");
  if (spec.batch_percent + spec.background_percent > 100) return invalid("the shares of the classes exceed 100 %");
  return {};
}

GeneratedTraffic::GeneratedTraffic(const TrafficSpec& spec) : spec_(spec), random_(spec.seed) {
  const uint32_t at_start = spec.process == ArrivalProcess::closed ? spec.clients : 1;
  // A closed loop's clients begin one after another, within one think time.
  for (uint32_t i = 0; i < at_start; ++i) generate(next_gap());
}

void GeneratedTraffic::pop() {
  const base::Micros at = known_.back().at;
  known_.pop_back();
  if (spec_.process != ArrivalProcess::closed) generate(at + next_gap());
}

void GeneratedTraffic::on_finished(base::Micros now) {
  if (spec_.process == ArrivalProcess::closed) generate(now + next_gap());
}

void GeneratedTraffic::generate(base::Micros at) {
  if (generated_count_ == spec_.request_count) return;
  ++generated_count_;
  const auto length = [&](double mean, uint32_t tokens_max) {
    const double tokens = std::round(random_.log_normal(mean, spec_.length_sigma));
    return static_cast<uint32_t>(std::clamp(tokens, 1.0, static_cast<double>(tokens_max)));
  };
  Arrival arrival;
  arrival.at = at;
  arrival.prompt_tokens = length(spec_.prompt_tokens_mean, spec_.tokens_max - 1);
  arrival.output_tokens = length(spec_.output_tokens_mean, spec_.tokens_max - arrival.prompt_tokens);
  arrival.output_tokens_max = spec_.tokens_max;
  const uint32_t percent = random_.below(100);
  if (percent < spec_.batch_percent) {
    arrival.service_class = contract::ServiceClass::batch;
  } else if (percent < spec_.batch_percent + spec_.background_percent) {
    arrival.service_class = contract::ServiceClass::background;
  }
  const auto later_first = [](const Arrival& a, const Arrival& b) { return a.at > b.at; };
  known_.insert(std::lower_bound(known_.begin(), known_.end(), arrival, later_first), arrival);
}

base::Micros GeneratedTraffic::next_gap() {
  double seconds = 0;
  switch (spec_.process) {
    case ArrivalProcess::poisson: seconds = random_.exponential() / spec_.requests_per_s; break;
    case ArrivalProcess::gamma:
      seconds = random_.gamma(1 / (spec_.burstiness * spec_.burstiness)) / spec_.requests_per_s;
      break;
    case ArrivalProcess::closed: seconds = random_.exponential() * spec_.think_s_mean; break;
  }
  return base::Micros(std::llround(std::min(seconds, 1e9) * 1e6));
}

}  // namespace takt::worlds
