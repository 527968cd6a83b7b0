#include "worlds/sim/timeline.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::worlds {
namespace {

// Request 1 (3 tokens in, 3 out) decodes while the prompt of request 2 comes in.
Timeline small_timeline() {
  Timeline timeline;
  const auto add = [&](uint64_t id, int64_t at, int64_t scheduled, std::vector<int64_t> tokens) {
    RequestRecord record;
    record.id = contract::RequestId{id};
    record.arrival.at = base::Micros(at);
    record.arrival.prompt_tokens = 3;
    record.first_scheduled = base::Micros(scheduled);
    for (const int64_t token : tokens) record.note_tokens(1, base::Micros(token));
    record.finished = record.last_token;
    record.finish = contract::FinishReason::stop;
    timeline.records.push_back(record);
  };
  add(1, 0, 0, {10'000, 60'000, 70'000});
  add(2, 5'000, 10'000, {60'000});
  const contract::RequestId a{1}, b{2};
  timeline.steps = {{base::Micros(0), base::Micros(10'000), {{a, 0, 3}}, {}},
                    {base::Micros(10'000), base::Micros(60'000), {{b, 0, 3}}, {a}},
                    {base::Micros(60'000), base::Micros(70'000), {}, {a}}};
  return timeline;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Timeline, ThePictureShowsStepsAndRequests) {
  const Timeline timeline = small_timeline();
  const std::string svg = to_svg(timeline, whole(timeline));
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("3 steps, 2 requests, 0.07 s"), std::string::npos);
  // The background, 2 chunks, 2 decode rows, 2 gaps, 2 entries of the legend.
  EXPECT_EQ(count_of(svg, "<rect "), 9u);
  EXPECT_NE(svg.find(">50.0</text>"), std::string::npos) << "the longest gap, ms";
}

TEST(Timeline, AWindowShowsWhatIsInIt) {
  const Timeline timeline = small_timeline();
  const std::string svg = to_svg(timeline, {base::Micros(61'000), base::Micros(70'000)});
  EXPECT_NE(svg.find("1 steps, 1 requests"), std::string::npos);
  EXPECT_EQ(svg.find("2: 3 in"), std::string::npos);
}

TEST(Timeline, ManyShortStepsAreDrawnTogether) {
  Timeline timeline = small_timeline();
  for (int64_t i = 0; i < 100'000; ++i) {
    timeline.steps.push_back(
        {base::Micros(70'000 + i * 100), base::Micros(70'100 + i * 100), {}, {contract::RequestId{1}}});
  }
  // At most a bar and its gap for each 0.6 pixels of 1,106.
  EXPECT_LT(count_of(to_svg(timeline, whole(timeline)), "<rect "), 4000u);
}

TEST(Timeline, AnEmptyRunHasAPictureToo) { EXPECT_TRUE(to_svg({}, whole({})).ends_with("</svg>\n")); }

TEST(Timeline, TheTraceHasStepsAndPhases) {
  const std::string json = to_perfetto(small_timeline());
  EXPECT_EQ(count_of(json, R"("name":"mixed")"), 1u);
  EXPECT_NE(json.find(R"("name":"queue","pid":2,"tid":2,"ts":5000,"dur":5000)"), std::string::npos);
  EXPECT_NE(json.find(R"("name":"prefill","pid":2,"tid":2,"ts":10000,"dur":50000)"), std::string::npos);
  EXPECT_NE(json.find(R"("name":"decode","pid":2,"tid":1,"ts":10000,"dur":60000)"), std::string::npos);
  EXPECT_EQ(count_of(json, "{"), count_of(json, "}"));
}

}  // namespace
}  // namespace takt::worlds
