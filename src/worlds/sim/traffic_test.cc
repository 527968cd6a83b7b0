#include "worlds/sim/traffic.h"

#include <gtest/gtest.h>

#include <cmath>

namespace takt::worlds {
namespace {

std::vector<Arrival> all_of(Traffic& traffic) {
  std::vector<Arrival> arrivals;
  while (const Arrival* arrival = traffic.peek()) {
    arrivals.push_back(*arrival);
    traffic.pop();
  }
  return arrivals;
}

// Mean and coefficient of variation of the gaps, in seconds.
std::pair<double, double> gap_moments(const std::vector<Arrival>& arrivals) {
  double sum = 0, squares = 0;
  int64_t before = 0;
  for (const Arrival& arrival : arrivals) {
    const double gap = static_cast<double>(arrival.at.count() - before) / 1e6;
    sum += gap;
    squares += gap * gap;
    before = arrival.at.count();
  }
  const double count = static_cast<double>(arrivals.size()), mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean) / mean};
}

TrafficSpec large_spec() {
  TrafficSpec spec;
  spec.request_count = 20'000;
  spec.requests_per_s = 4;
  spec.tokens_max = 100'000;
  return spec;
}

TEST(Traffic, TheSameSeedGivesTheSameTraffic) {
  const TrafficSpec spec;
  GeneratedTraffic a(spec), b(spec);
  const auto first = all_of(a), second = all_of(b);
  ASSERT_EQ(first.size(), spec.request_count);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].at, second[i].at);
    EXPECT_EQ(first[i].prompt_tokens, second[i].prompt_tokens);
  }
}

// Limits are about five deviations of 20,000 samples.
TEST(Traffic, PoissonHasItsRateAndSpread) {
  GeneratedTraffic traffic(large_spec());
  const auto [mean, variation] = gap_moments(all_of(traffic));
  EXPECT_NEAR(mean, 0.25, 0.009);
  EXPECT_NEAR(variation, 1, 0.05);
}

TEST(Traffic, GammaHasItsRateAndBursts) {
  TrafficSpec spec = large_spec();
  spec.process = ArrivalProcess::gamma;
  spec.burstiness = 3;
  GeneratedTraffic traffic(spec);
  const auto [mean, variation] = gap_moments(all_of(traffic));
  EXPECT_NEAR(mean, 0.25, 0.027);
  EXPECT_NEAR(variation, 3, 0.4);
}

TEST(Traffic, LengthsAndClassesHaveTheirMeans) {
  TrafficSpec spec = large_spec();
  spec.prompt_tokens_mean = 500;
  spec.output_tokens_mean = 80;
  GeneratedTraffic traffic(spec);
  double prompt = 0, output = 0;
  int batch = 0, background = 0;
  const auto arrivals = all_of(traffic);
  for (const Arrival& arrival : arrivals) {
    prompt += arrival.prompt_tokens;
    output += arrival.output_tokens;
    batch += arrival.service_class == contract::ServiceClass::batch ? 1 : 0;
    background += arrival.service_class == contract::ServiceClass::background ? 1 : 0;
  }
  const double count = static_cast<double>(arrivals.size());
  EXPECT_NEAR(prompt / count, 500, 12);
  EXPECT_NEAR(output / count, 80, 2);
  EXPECT_NEAR(batch / count, 0.20, 0.015);
  EXPECT_NEAR(background / count, 0.10, 0.011);
}

TEST(Traffic, AClosedLoopAsksAgainOnlyAfterAnAnswer) {
  TrafficSpec spec;
  spec.process = ArrivalProcess::closed;
  spec.clients = 3;
  spec.request_count = 5;
  GeneratedTraffic traffic(spec);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(traffic.peek(), nullptr);
    traffic.pop();
  }
  EXPECT_EQ(traffic.peek(), nullptr);
  traffic.on_finished(base::Micros(10'000'000));
  ASSERT_NE(traffic.peek(), nullptr);
  EXPECT_GE(traffic.peek()->at, base::Micros(10'000'000));
  traffic.pop();
  traffic.on_finished(base::Micros(20'000'000));
  traffic.on_finished(base::Micros(20'000'000));
  traffic.pop();
  EXPECT_EQ(traffic.peek(), nullptr) << "5 requests in all";
}

TEST(Traffic, ChecksItsSpec) {
  EXPECT_TRUE(check(TrafficSpec{}).ok());
  const auto is_refused = [](auto change) {
    TrafficSpec spec;
    change(spec);
    return !check(spec).ok();
  };
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.requests_per_s = 0; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.requests_per_s = NAN; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.burstiness = -1; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.think_s_mean = -1; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.prompt_tokens_mean = 0; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.output_tokens_mean = INFINITY; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.length_sigma = 4; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.tokens_max = 1; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.clients = 0; }));
  EXPECT_TRUE(is_refused([](TrafficSpec& spec) { spec.batch_percent = 91; }));
}

}  // namespace
}  // namespace takt::worlds
