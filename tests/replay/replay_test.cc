// Recordings: what they must show, and what a broken one must not do.
#include "worlds/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cost/roofline/roofline_cost.h"
#include "scheduler/scheduler.h"
#include "worlds/call_text.h"
#include "worlds/recorder.h"
#include "worlds/sim/sim_world.h"

namespace takt::tests {
namespace {

contract::Capacity capacity() {
  contract::Capacity capacity;
  capacity.page_count = 64;
  capacity.context_tokens = 1024;
  capacity.rows_max = 8;
  return capacity;
}

std::string record_run() {
  const contract::Capacity limits = capacity();
  auto scheduler = scheduler::make_scheduler(limits);
  std::ostringstream out;
  worlds::RecordingScheduler recorder(*scheduler.value(), limits, contract::ServicePolicy(), out);
  contract::ModelShape shape;
  shape.layer_count = 24;
  shape.embedding_length = 896;
  shape.kv_bytes_per_token = base::Bytes(12'288);
  shape.weight_bytes = base::Bytes(391'000'000);
  shape.weights_linear = 358'000'000;
  shape.weights_output = 136'000'000;
  const cost::RooflineCost truth(shape, cost::MachineRates{});
  worlds::TrafficSpec spec;
  spec.request_count = 40;
  spec.requests_per_s = 3;
  spec.tokens_max = 1024;
  worlds::GeneratedTraffic traffic(spec);
  worlds::SimWorld world(recorder, limits, truth, traffic);
  EXPECT_TRUE(world.run().ok());
  return out.str();
}

base::Result<worlds::ReplayReport> replay_text(const std::string& text) {
  std::istringstream in(text);
  return worlds::replay(in, scheduler::make_scheduler);
}

TEST(Replay, ARecordedRunGivesTheSamePlans) {
  const auto report = replay_text(record_run());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->is_identical());
  EXPECT_EQ(report->submits, 40u);
  EXPECT_GT(report->steps, 200u);
}

TEST(Replay, TheSameSeedGivesTheSameRun) { EXPECT_EQ(record_run(), record_run()); }

TEST(Replay, NamesTheFirstDifference) {
  std::string text = record_run();
  const size_t plan = text.find("= step=20 ");
  ASSERT_NE(plan, std::string::npos);
  const size_t line_end = text.find('\n', plan);
  const std::string original = text.substr(plan + 2, line_end - plan - 2);
  text.insert(line_end, "+9");
  const auto report = replay_text(text);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_FALSE(report->is_identical());
  EXPECT_EQ(report->first_difference->recorded, original + "+9");
  EXPECT_EQ(report->first_difference->replayed, original);
  const auto line = static_cast<uint64_t>(std::count(text.begin(), text.begin() + static_cast<long>(plan), '\n')) + 1;
  EXPECT_EQ(report->first_difference->line, line);
}

TEST(Replay, AnotherSchedulerGivesADifference) {
  std::istringstream in(record_run());
  const auto report = worlds::replay(in, [](contract::Capacity limits, const contract::ServicePolicy& policy) {
    limits.chunk_tokens_beside_decode -= 1;
    return scheduler::make_scheduler(limits, policy);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(report->is_identical());
}

// A recording ends where the process ended: anywhere.
TEST(Replay, ACutRecordingReplaysUpToTheCut) {
  const std::string text = record_run();
  const size_t body = text.find("next");
  for (size_t size = body; size < text.size(); size += 997) {
    const auto report = replay_text(text.substr(0, size));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->is_identical());
  }
}

TEST(Replay, KeepsPromptsAndAdmissions) {
  const contract::Capacity limits = capacity();
  auto scheduler = scheduler::make_scheduler(limits);
  std::ostringstream out;
  worlds::RecordingScheduler recorder(*scheduler.value(), limits, contract::ServicePolicy(), out);
  contract::Request request;
  request.id = contract::RequestId{7};
  request.service_class = contract::ServiceClass::batch;
  request.output_tokens_max = base::Tokens(9'999);
  request.prompt = std::make_shared<const std::vector<contract::TokenId>>(std::vector<contract::TokenId>{5, 0, -1});
  recorder.submit(request, base::Micros(12));
  recorder.submit(request, base::Micros(13));
  recorder.cancel(request.id, base::Micros(14));
  recorder.next(base::Micros(15));
  EXPECT_EQ(out.str(), "takt-recording 1\n" + worlds::to_text(limits) + "\n" +
                           worlds::to_text(contract::ServicePolicy()) +
                           "\n"
                           "submit 12 id=7 class=batch outputs=9999 prompt=5,0,-1\n"
                           "= accepted outputs=1021\n"
                           "submit 13 id=7 class=batch outputs=9999 prompt=5,0,-1\n"
                           "= refused invalid_argument request 7 is already here\n"
                           "cancel 14 id=7\n"
                           "next 15\n"
                           "= idle\n");
  EXPECT_TRUE(replay_text(out.str())->is_identical());
}

TEST(Replay, RefusesWhatIsNoRecording) {
  const std::string head = "takt-recording 1\n" + worlds::to_text(capacity()) + "\n";
  const std::string started = head +
                              "submit 0 id=1 class=batch outputs=2 prompt=0*10\n= accepted outputs=2\n"
                              "next 0\n= step=1 prefill:1[0,10)last+0\n";
  struct Case {
    std::string text;
    const char* says;
  };
  for (const Case& broken : {
           Case{"", "line 0: 'takt-recording 1' expected"},
           Case{"takt-recording 2\n", "line 1: 'takt-recording 1' expected"},
           Case{"takt-recording 1\n", "line 1: the capacity is missing"},
           Case{"takt-recording 1\ncapacity page_count=0\n", "line 2: 'page_tokens' expected"},
           Case{head + "jump 5\n", "line 3: unknown call 'jump'"},
           Case{head + "next\n", "line 3: a number"},
           Case{head + "next 1 2\n", "line 3: the end of the line expected"},
           Case{head + "next 99999999999999999999\n", "line 3: a number"},
           Case{head + "next 1\nnext 2\n", "line 4: an answer"},
           Case{head + "submit 0 id=1 class=gold outputs=2 prompt=1\n", "line 3: unknown name 'gold'"},
           Case{head + "submit 0 id=1 class=batch outputs=2 prompt=1,\n", "line 3: a number"},
           Case{head + "submit 0 id=1 class=batch outputs=2 prompt=1*99999999\n", "line 3: a number"},
           Case{head + "absorb 0 step=1 us=5\n", "line 3: absorb, but no step is running"},
           Case{started + "next 1\n", "line 7: next, but the step before was not absorbed"},
           Case{started + "absorb 1 step=2 us=5 prefill:1+1\n", "line 7: absorb of a step"},
           Case{started + "absorb 1 step=1 us=5\n", "line 7: absorb: not as many rows"},
           Case{started + "absorb 1 step=1 us=5 decode:1+1\n", "line 7: absorb: a row is not the plan's"},
           Case{started + "absorb 1 step=1 us=5 prefill:2+1\n", "line 7: absorb: a row is not the plan's"},
           Case{started + "absorb 1 step=1 us=5 prefill:1+0\n", "line 7: absorb: request 1 cannot have got 0"},
           Case{started + "absorb 1 step=1 us=5 prefill:1+2\n", "line 7: absorb: request 1 cannot have got 2"},
           Case{started + "absorb 1 step=1 us=5 prefill:1+1=tired\n", "line 7: unknown name 'tired'"},
           Case{started + "absorb 1 step=1 us=5 prefill:1+1\nnext 1\n= step=2 decode:1@10\n"
                          "absorb 2 step=2 us=5 decode:1+1\n",
                "line 10: absorb: request 1 cannot have got 1"},
       }) {
    const auto report = replay_text(broken.text);
    ASSERT_FALSE(report.ok()) << broken.text;
    EXPECT_EQ(report.error().code, base::ErrorCode::invalid_file);
    EXPECT_TRUE(report.error().message.starts_with(broken.says)) << report.error().message;
  }
}

TEST(Replay, ACapacityThatCannotWorkIsTheFactorysError) {
  contract::Capacity limits = capacity();
  limits.rows_max = 0;
  const auto report = replay_text("takt-recording 1\n" + worlds::to_text(limits) + "\n");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, base::ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace takt::tests
