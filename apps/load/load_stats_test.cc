#include "load/load_stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "load/load_report.h"
#include "load/rate_search.h"

namespace takt::apps {
namespace {

base::Micros at_ms(int64_t ms) { return base::Micros(ms * 1000); }

// Scheduled at `scheduled`, chunks at these times.
Reply reply_at(int64_t scheduled, std::vector<int64_t> chunks) {
  Reply reply;
  reply.scheduled = reply.sent = at_ms(scheduled);
  for (const int64_t ms : chunks) reply.chunks.push_back({at_ms(ms), {}});
  reply.ended = at_ms(chunks.empty() ? scheduled : chunks.back());
  reply.completion_tokens = static_cast<int64_t>(chunks.size());
  return reply;
}

TEST(LoadStats, PercentilesAreByNearestRankAndWeight) {
  std::vector<WeightedValue> values;
  for (int i = 100; i >= 1; --i) values.push_back({static_cast<double>(i), 1});
  Distribution got = distribution_of(values);
  EXPECT_EQ(got.p50, 50);
  EXPECT_EQ(got.p90, 90);
  EXPECT_EQ(got.p99, 99);
  EXPECT_EQ(got.max, 100);
  EXPECT_EQ(got.mean, 50.5);
  got = distribution_of({{10, 98}, {1000, 2}});
  EXPECT_EQ(got.p95, 10);
  EXPECT_EQ(got.p99, 1000);
  EXPECT_EQ(distribution_of({{7, 1}}).p99, 7);
  EXPECT_EQ(distribution_of({}).weight, 0);
}

TEST(LoadStats, LatencyCountsFromTheScheduledTimeEvenWhenTheClientWasLate) {
  Reply reply = reply_at(1000, {1500, 1520});
  reply.sent = at_ms(1400);
  const LoadSummary summary = summarise({{reply, 1, 2}}, {});
  EXPECT_EQ(summary.ttft.p50, 500);  // not 100
  EXPECT_EQ(summary.end_to_end.p50, 520);
  EXPECT_EQ(summary.sent_late.max, 400);
}

TEST(LoadStats, WhatFailedCountsInEveryShareAndByKind) {
  Reply refused = reply_at(0, {}), refused_too = reply_at(10, {}), cut = reply_at(0, {100});
  refused.error_kind = refused_too.error_kind = "http 429";
  refused.error = "full";
  cut.error_kind = "cut off";
  LoadLimits limits;
  limits.ttft = at_ms(1000);
  const LoadSummary summary =
      summarise({{reply_at(0, {100, 2000}), 1, 2}, {refused, 1, 1}, {refused_too, 1, 1}, {cut, 1, 5}}, limits);
  EXPECT_EQ(summary.requests, 4u);
  EXPECT_EQ(summary.answered, 1u);
  EXPECT_EQ(summary.errors.at("http 429"), 2u);
  EXPECT_EQ(summary.errors.at("cut off"), 1u);
  EXPECT_EQ(summary.error_example.at("http 429"), "full");
  EXPECT_EQ(summary.within, 1u);
  EXPECT_EQ(summary.within_share, 0.25);
  EXPECT_EQ(summary.goodput_rps, 0.5);  // one in 2 s
  EXPECT_EQ(summary.ttft.weight, 1);    // a cut answer's first token is not mixed in
}

TEST(LoadStats, EachLimitIsJudgedOnItsOwn) {
  const auto limits = parse_limits("ttft=1s,itl=50ms,gap=200ms");
  ASSERT_TRUE(limits.ok());
  const LoadSummary summary = summarise({{reply_at(0, {1000, 1050, 1100}), 1, 3},  // exactly at the limits
                                         {reply_at(0, {1001, 1002}), 1, 2},
                                         {reply_at(0, {1, 2, 3, 4, 5, 206}), 1, 6},  // a gap of 201, the mean is 41
                                         {reply_at(0, {1, 61, 121}), 1, 3}},
                                        *limits);
  EXPECT_EQ(summary.within, 1u);
  EXPECT_EQ(summary.late_first, 1u);
  EXPECT_EQ(summary.stalled, 1u);
  EXPECT_EQ(summary.slow, 1u);
}

TEST(LoadStats, LimitsAreReadStrictly) {
  EXPECT_EQ(parse_limits("itl=2.5ms")->itl_mean->count(), 2500);
  EXPECT_TRUE(parse_limits("")->is_empty());
  for (const char* bad : {"ttft", "ttft=", "ttft=3", "ttft=-1s", "latency=3s", "ttft=3s;itl=1s", "gap=nans"})
    EXPECT_FALSE(parse_limits(bad).ok()) << bad;
}

TEST(LoadStats, LengthsAreHeldAgainstTheServersOwnCounts) {
  Reply reply = reply_at(0, {1, 2});
  reply.prompt_tokens = 110;
  reply.completion_tokens = 8;
  const LoadSummary summary = summarise({{reply, 100, 10}}, {});
  EXPECT_NEAR(summary.prompt_length_error, 0.1, 1e-12);
  EXPECT_NEAR(summary.output_length_error, 0.2, 1e-12);
  EXPECT_NE(load_table({"u", "m", "poisson", {}, {{1, summary}}, {}}).find("by 10.0 %, answers by 20.0 %"),
            std::string::npos);
}

TEST(RateSearch, FindsTheEdgeWithinItsPrecision) {
  for (const double edge : {0.07, 0.5, 3.3, 40.0}) {
    int tries = 0;
    const auto rate = find_rate({0.5, 0.1, 0.01, 20}, [&](double tried) { return ++tries, tried <= edge; });
    ASSERT_TRUE(rate.has_value()) << edge;
    EXPECT_LE(*rate, edge);
    EXPECT_GT(*rate * 1.1, edge) << edge;
    EXPECT_LE(tries, 12) << edge;
  }
  int tries = 0;
  EXPECT_FALSE(find_rate({0.5, 0.1, 1.0 / 32, 12}, [&](double) { return ++tries, false; }).has_value());
  EXPECT_EQ(tries, 6);  // 1, 1/2, … 1/32 of the first
}

TEST(LoadReport, ThePictureHasEveryPointAndTheLimit) {
  LoadReport report{"http://a", "a<b>", "poisson", {}, {}, {}};
  report.limits.ttft = at_ms(3000);
  for (const int64_t ms : {100, 200, 900})
    report.points.push_back({ms / 100.0, summarise({{reply_at(0, {ms, ms + 30}), 1, 2}}, {})});
  const std::string svg = load_svg(report);
  size_t circles = 0;
  for (size_t at = svg.find("<circle cx"); at != std::string::npos; at = svg.find("<circle cx", at + 1)) ++circles;
  EXPECT_EQ(circles, 2u + 3 * 2 * 2);  // the legend's; three points, P50 and P99, two charts
  EXPECT_NE(svg.find("limit 3000 ms"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace takt::apps
