#include "load/load_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "load/load_client.h"
#include "load/prompt_text.h"

namespace takt::apps {
namespace {

LoadSpec spec_of(LoadProcess process) {
  LoadSpec spec;
  spec.process = process;
  spec.request_count = 4000;
  spec.prompt = *parse_length("lognormal:200:1.0:16:3000");
  spec.output = *parse_length("uniform:10:20");
  return spec;
}

// Mean and coefficient of variation of the gaps between arrivals, seconds.
std::pair<double, double> gaps_of(const LoadPlan& plan) {
  double sum = 0, squares = 0, before = 0;
  for (const PlannedConversation& one : plan) {
    const double at = static_cast<double>(one.at.count()) / 1e6;
    sum += at - before;
    squares += (at - before) * (at - before);
    before = at;
  }
  const double count = static_cast<double>(plan.size()), mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean) / mean};
}

TEST(LoadPlan, ArrivalsHaveTheRateAndTheBurstsAskedFor) {
  LoadSpec spec = spec_of(LoadProcess::poisson);
  spec.requests_per_s = 4;
  // Four deviations of a mean of 4,000 gaps with variation c: 4 c ÷ √4000. That of c itself is wider; a tenth and a quarter are far outside.
  auto [mean, variation] = gaps_of(make_load_plan(spec));
  EXPECT_NEAR(mean, 0.25, 0.25 * 4 / std::sqrt(4000));
  EXPECT_NEAR(variation, 1, 0.1);
  spec.process = LoadProcess::gamma;
  spec.burstiness = 3;
  std::tie(mean, variation) = gaps_of(make_load_plan(spec));
  EXPECT_NEAR(mean, 0.25, 0.25 * 4 * 3 / std::sqrt(4000));
  EXPECT_NEAR(variation, 3, 0.75);
}

TEST(LoadPlan, TheSameSeedAsksTheSameAndTheRateChangesTimesOnly) {
  LoadSpec spec = spec_of(LoadProcess::poisson);
  const LoadPlan one = make_load_plan(spec), again = make_load_plan(spec);
  spec.requests_per_s = 2;
  const LoadPlan faster = make_load_plan(spec);
  spec.seed = 2;
  const LoadPlan other = make_load_plan(spec);
  size_t different = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].at, again[i].at);
    EXPECT_EQ(one[i].turns[0].prompt_tokens, again[i].turns[0].prompt_tokens);
    EXPECT_EQ(one[i].turns[0].prompt_tokens, faster[i].turns[0].prompt_tokens);
    EXPECT_NEAR(static_cast<double>(faster[i].at.count()), static_cast<double>(one[i].at.count()) / 2, 1);
    different += one[i].turns[0].prompt_tokens != other[i].turns[0].prompt_tokens;
  }
  EXPECT_GT(different, one.size() / 2);
}

TEST(LoadPlan, LengthsFollowTheirDistribution) {
  const LoadPlan plan = make_load_plan(spec_of(LoadProcess::closed));
  std::vector<uint32_t> prompts;
  std::set<uint32_t> outputs;
  for (const PlannedConversation& one : plan) {
    prompts.push_back(one.turns[0].prompt_tokens);
    outputs.insert(one.turns[0].output_tokens);
    EXPECT_EQ(one.at.count(), 0);
  }
  std::sort(prompts.begin(), prompts.end());
  EXPECT_EQ(prompts.front(), 16u);
  EXPECT_EQ(prompts.back(), 3000u);
  // The median's deviation is 1.25 σ ÷ √n of its logarithm: four of them are 8 %.
  EXPECT_NEAR(prompts[prompts.size() / 2], 200, 16);
  EXPECT_EQ(*outputs.begin(), 10u);
  EXPECT_EQ(*outputs.rbegin(), 20u);
  EXPECT_EQ(outputs.size(), 11u);
}

TEST(LoadPlan, TurnsCountAsRequests) {
  LoadSpec spec = spec_of(LoadProcess::poisson);
  spec.request_count = 10;
  spec.turns = 4;
  const LoadPlan plan = make_load_plan(spec);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].turns.size(), 4u);
  EXPECT_EQ(plan[2].turns.size(), 2u);
}

TEST(LoadPlan, LengthsAreReadStrictly) {
  EXPECT_EQ(parse_length("512")->max, 512u);
  for (const char* bad : {"", "0", "-1", "12x", "uniform:5:4", "uniform:0:4", "lognormal:200:1", "lognormal:200:-1:1:2",
                          "normal:1:2", "99999999"})
    EXPECT_FALSE(parse_length(bad).ok()) << bad;
  LoadSpec spec = spec_of(LoadProcess::poisson);
  spec.shared_tokens = 16;
  EXPECT_FALSE(check(spec).ok());  // the shortest prompt has no room for a word of its own
  spec.shared_tokens = 15;
  EXPECT_TRUE(check(spec).ok());
}

TEST(LoadPlan, TracesOfBothFormats) {
  std::istringstream azure(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 "
      "18:15:50.6805900,9000,109\n");
  const auto plan = read_load_trace(azure, 0.5, 100, 4096);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->size(), 2u);
  EXPECT_EQ((*plan)[1].at.count(), 2'000'000);
  EXPECT_EQ((*plan)[1].turns[0].prompt_tokens, 4096u);
  std::istringstream mooncake(R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]})");
  const auto blocks = read_load_trace(mooncake, 1, 100, 0);
  ASSERT_TRUE(blocks.ok()) << blocks.error().message;
  EXPECT_EQ((*blocks)[0].blocks, (std::vector<uint32_t>{7, 8}));
  std::istringstream broken("TIMESTAMP,ContextTokens,GeneratedTokens\nx,1,1\n"),
      empty("TIMESTAMP,ContextTokens,GeneratedTokens\n");
  EXPECT_NE(read_load_trace(broken, 1, 100, 0).error().message.find("line 2"), std::string::npos);
  EXPECT_FALSE(read_load_trace(empty, 1, 100, 0).ok());
}

TEST(PromptText, TextsHaveTheirLengthAndNoneBeginsLikeAnother) {
  PromptText text(123), other_run(124);
  std::set<std::string> begins;
  for (int i = 0; i < 2000; ++i) {
    const std::string one = text.fresh(10);
    EXPECT_EQ(std::count(one.begin(), one.end(), ' '), 10);
    EXPECT_TRUE(begins.insert(one.substr(0, 9)).second) << one;
    EXPECT_TRUE(begins.insert(other_run.fresh(10).substr(0, 9)).second);
  }
  EXPECT_EQ(text.named(5, 100), text.named(5, 100));
  EXPECT_NE(text.named(5, 100), text.named(6, 100));
  EXPECT_NE(text.named(5, 100), other_run.named(5, 100));
}

TEST(PromptText, TheScaleIsTheServersOwn) {
  const TokenScale scale = TokenScale::from(8, 30, 72, 94);  // one token a word, 22 of a template and the number
  EXPECT_EQ(scale.words(100), 78u);
  EXPECT_EQ(scale.words(3), 1u);
  EXPECT_EQ(TokenScale::from(8, 5, 72, 5).words(100), 100u);  // counts nothing sensible
}

TEST(LoadTarget, UrlsAreReadStrictly) {
  const auto target = parse_url("http://127.0.0.1:8080/proxy/v1/");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->host, "127.0.0.1");
  EXPECT_EQ(target->port, 8080);
  EXPECT_EQ(target->base_path, "/proxy");
  EXPECT_EQ(parse_url("http://[::1]:9")->host, "::1");
  EXPECT_EQ(parse_url("http://box")->port, 80);
  for (const char* bad : {"", "box:80", "https://box", "http://", "http://box:0", "http://box:99999", "http://box:8o"})
    EXPECT_FALSE(parse_url(bad).ok()) << bad;
}

TEST(LoadTarget, OnlyPlainFieldsWhenAskedFor) {
  LoadTarget target;
  const LoadRequest request{{"a", "b", "c"}, 5, "batch"};
  EXPECT_NE(request_body(target, request).find("\"ignore_eos\":true"), std::string::npos);
  EXPECT_NE(request_body(target, request).find("\"prompt\":\"abc\""), std::string::npos);
  EXPECT_NE(request_body(target, request).find("\"service_class\":\"batch\""), std::string::npos);
  target.is_plain = target.is_chat = true;
  const std::string body = request_body(target, request);
  for (const char* foreign : {"ignore_eos", "timings_per_token", "continuous_usage_stats", "service_class"})
    EXPECT_EQ(body.find(foreign), std::string::npos) << foreign;
  EXPECT_NE(body.find(R"({"role":"assistant","content":"b"})"), std::string::npos) << body;
}

}  // namespace
}  // namespace takt::apps
