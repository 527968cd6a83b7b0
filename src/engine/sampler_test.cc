#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace takt::engine {
namespace {

contract::Sampling plain() {
  contract::Sampling sampling;
  sampling.temperature = 1;
  sampling.top_k = 0;
  sampling.top_p = 1;
  sampling.min_p = 0;
  return sampling;
}

Sampled draw(const contract::Sampling& sampling, std::vector<float> logits, uint64_t position = 0,
             std::vector<contract::TokenId> history = {}, std::vector<uint64_t> allowed = {}) {
  return Sampler().sample(sampling, history, position, logits, allowed);
}

TEST(Sampler, UniformDrawsAreUniformAndKeyed) {
  double sum = 0, square_sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double u = uniform_draw(7, 0, static_cast<uint64_t>(i));
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    square_sum += u * u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(square_sum / kCount, 1.0 / 3, 0.005);
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(2, 0, 5));
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(1, 1, 5));
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(1, 0, 6));
  EXPECT_EQ(uniform_draw(1, 2, 3), uniform_draw(1, 2, 3));
}

TEST(Sampler, GreedyTakesTheLowestIdOfEquals) {
  contract::Sampling sampling = plain();
  sampling.temperature = 0;
  EXPECT_EQ(draw(sampling, {1, 3, 3, 2}).token, 1);
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  const std::vector<float> logits = {0, 1, 2, -1};
  std::map<contract::TokenId, int> counts;
  constexpr int kCount = 40000;
  for (int i = 0; i < kCount; ++i) ++counts[draw(plain(), logits, static_cast<uint64_t>(i)).token];
  double total = 0;
  for (float logit : logits) total += std::exp(logit);
  for (size_t id = 0; id < logits.size(); ++id)
    EXPECT_NEAR(counts[static_cast<contract::TokenId>(id)] / static_cast<double>(kCount), std::exp(logits[id]) / total,
                0.01);
}

TEST(Sampler, FiltersKeepThePrefixTheyPromise) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  const auto kept = [&](const contract::Sampling& sampling) {
    contract::TokenId worst = 0;
    for (uint64_t i = 0; i < 3000; ++i) worst = std::max(worst, draw(sampling, logits, i).token);
    return worst + 1;
  };
  contract::Sampling sampling = plain();
  EXPECT_EQ(kept(sampling), 4);
  sampling.top_k = 2;
  EXPECT_EQ(kept(sampling), 2);
  sampling = plain();
  sampling.top_p = 0.7f;  // 0.5 is not enough, 0.8 is
  EXPECT_EQ(kept(sampling), 2);
  sampling.top_p = 0.4f;  // never fewer than one
  EXPECT_EQ(kept(sampling), 1);
  sampling = plain();
  sampling.min_p = 0.25f;  // 0.15 / 0.5 passes, 0.05 / 0.5 does not
  EXPECT_EQ(kept(sampling), 3);
}

TEST(Sampler, PenaltiesBiasAndMask) {
  contract::Sampling sampling = plain();
  sampling.temperature = 0;
  sampling.repeat_penalty = 2;
  EXPECT_EQ(draw(sampling, {3, 2, -1}, 1, {0}).token, 1);
  sampling = plain();
  sampling.temperature = 0;
  sampling.frequency_penalty = 0.6f;
  EXPECT_EQ(draw(sampling, {3, 2}, 2, {0, 0}).token, 1);
  EXPECT_EQ(draw(sampling, {3, 2}, 1, {0}).token, 0);
  sampling.repeat_last_n = 1;  // sees one of the two
  EXPECT_EQ(draw(sampling, {3, 2}, 2, {0, 0}).token, 0);
  sampling = plain();
  sampling.temperature = 0;
  sampling.logit_bias = {{1, 5.0f}};
  EXPECT_EQ(draw(sampling, {3, 2}).token, 1);
  EXPECT_EQ(draw(plain(), {3, 2}, 0, {}, {0b10}).token, 1);
}

TEST(Sampler, NotANumberAndNothingLeftAreErrorsNotTokens) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), minus_infinity = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(are_sound(std::vector<float>{1, nan, 0}));
  EXPECT_FALSE(are_sound(std::vector<float>{1, -minus_infinity, 0}));
  EXPECT_TRUE(are_sound(std::vector<float>{1, minus_infinity, 0}));
  EXPECT_FALSE(draw(plain(), {minus_infinity, minus_infinity}).is_valid);
  EXPECT_FALSE(draw(plain(), {1, 2}, 0, {}, {0}).is_valid);
  contract::Sampling sampling = plain();
  sampling.temperature = 0;
  EXPECT_FALSE(draw(sampling, {1, 2}, 0, {}, {0}).is_valid);
  sampling = plain();
  sampling.logit_bias = {{1, 3.4e38f}, {1, 3.4e38f}};
  EXPECT_EQ(draw(sampling, {2, 1}).token, 1);
  sampling = plain();
  sampling.top_k = 2;
  EXPECT_EQ(draw(sampling, {minus_infinity, 1, minus_infinity}).token, 1);
}

TEST(Sampler, LogProbabilitiesSumToOneAndAreOrdered) {
  const contract::TokenOutput output = log_probabilities(std::vector<float>{1, 5, 5, -2}, 3, 4);
  double sum = 0;
  for (const auto& entry : output.top) sum += std::exp(static_cast<double>(entry.logprob));
  EXPECT_NEAR(sum, 1, 1e-6);
  ASSERT_EQ(output.top.size(), 4u);
  EXPECT_EQ(output.top[0].id, 1);
  EXPECT_EQ(output.top[1].id, 2);
  EXPECT_EQ(output.top[3].id, 3);
  EXPECT_EQ(output.top[3].logprob, output.logprob);
}

}  // namespace
}  // namespace takt::engine
