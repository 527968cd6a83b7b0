#include "worlds/sim/recorded_run.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cost/roofline/roofline_cost.h"
#include "scheduler/scheduler.h"
#include "worlds/call_text.h"
#include "worlds/plan_text.h"
#include "worlds/recorder.h"
#include "worlds/sim/sim_world.h"

namespace takt::worlds {
namespace {

contract::Capacity capacity() {
  contract::Capacity capacity;
  capacity.page_count = 512;
  capacity.context_tokens = 2048;
  capacity.rows_max = 8;
  capacity.step_tokens_max = 128;
  capacity.chunk_tokens_beside_decode = 32;
  return capacity;
}

// 20 ms and 100 us a row.
class LinearCost final : public cost::StepCost {
 public:
  base::Micros predict(const contract::StepPlan& plan) const override {
    return base::Micros(20'000 + 100 * cost::count_features(plan).tokens);
  }
  base::Micros predict_host(const contract::StepPlan&) const override { return base::Micros(300); }
};

// What a simulated world did, and what its recording says it did.
struct Both {
  std::vector<RequestRecord> simulated;
  uint64_t steps = 0;
  base::Result<RecordedRun> recorded;
};

Both record_run(uint32_t hang_up_one_in) {
  auto scheduler = scheduler::make_scheduler(capacity());
  std::stringstream text;
  RecordingScheduler recorder(**scheduler, capacity(), {}, text);
  Random random(7);
  std::vector<Arrival> arrivals(60);
  for (Arrival& arrival : arrivals) {
    arrival.at = base::Micros(random.below(10'000'000));
    arrival.prompt_tokens = random.between(1, 500);
    arrival.output_tokens = random.between(1, 60);
    arrival.output_tokens_max = random.between(1, 60);
    if (hang_up_one_in > 0 && random.one_in(hang_up_one_in)) arrival.cancel_after = base::Micros(random.below(900'000));
  }
  TraceTraffic traffic(arrivals);
  const LinearCost truth;
  SimWorld world(recorder, capacity(), truth, traffic);
  EXPECT_TRUE(world.run().ok());
  const uint64_t steps = world.steps();
  return {world.take_records(), steps, read_recorded_run(text)};
}

TEST(RecordedRun, SaysWhatClientsSaw) {
  const Both both = record_run(5);
  ASSERT_TRUE(both.recorded.ok()) << both.recorded.error().message;
  EXPECT_EQ(both.recorded->steps.size(), both.steps);
  ASSERT_EQ(both.recorded->records.size(), both.simulated.size());
  for (size_t i = 0; i < both.simulated.size(); ++i) {
    const RequestRecord &real = both.simulated[i], &read = both.recorded->records[i];
    EXPECT_EQ(read.id, real.id);
    EXPECT_EQ(read.arrival.at, real.arrival.at);
    EXPECT_EQ(read.arrival.prompt_tokens, real.arrival.prompt_tokens);
    EXPECT_EQ(read.first_scheduled, real.first_scheduled);
    EXPECT_EQ(read.first_token, real.first_token);
    EXPECT_EQ(read.finished, real.finished);
    EXPECT_EQ(read.finish, real.finish);
    EXPECT_EQ(read.token_gaps, real.token_gaps);
  }
}

TEST(RecordedRun, ItsTrafficGivesTheSameRunAgain) {
  const Both both = record_run(5);
  ASSERT_TRUE(both.recorded.ok());
  auto scheduler = scheduler::make_scheduler(both.recorded->capacity);
  TraceTraffic traffic(arrivals_of(*both.recorded));
  const LinearCost truth;
  SimWorld world(**scheduler, capacity(), truth, traffic);
  ASSERT_TRUE(world.run().ok());
  ASSERT_EQ(world.records().size(), both.simulated.size());
  for (size_t i = 0; i < both.simulated.size(); ++i) {
    EXPECT_EQ(world.records()[i].finished, both.simulated[i].finished) << "request " << i + 1;
    EXPECT_EQ(world.records()[i].token_gaps, both.simulated[i].token_gaps) << "request " << i + 1;
  }
}

TEST(RecordedRun, ItsStepsGiveBackTheCostsTheyWereMadeWith) {
  const Both both = record_run(0);
  ASSERT_TRUE(both.recorded.ok());
  const auto samples = samples_of(*both.recorded);
  const auto fit = cost::fit_cost(samples);
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  for (const cost::FitError& error : fit->errors) {
    EXPECT_GT(error.count, 20u);
    EXPECT_LT(error.p99, 0.02);
  }
  EXPECT_NEAR(fit->coefficients.host_fixed_us, 300, 1);
}

std::string error_of(const std::string& lines) {
  std::istringstream in(std::string(kRecordingHeader) + "\n" + to_text(capacity()) + "\n" + lines);
  const auto run = read_recorded_run(in);
  return run.ok() ? "no error" : run.error().message;
}

TEST(RecordedRun, NamesTheLineThatIsWrong) {
  const std::string submitted = "submit 10 id=1 class=interactive outputs=4 prompt=1,2,3\n= accepted outputs=4\n";
  const std::string planned = submitted + "next 20\n= step=1 prefill:1[0,3)last+0\n";
  EXPECT_EQ(error_of(planned + "absorb 90 step=1 us=60 prefill:1+1\n"), "no error");
  EXPECT_EQ(error_of(planned), "no error") << "cut off while a step ran";
  EXPECT_EQ(error_of("next 20\n= step=1 prefill:1[0,3)last+0\n"), "line 4: request 1 is not alive");
  EXPECT_EQ(error_of("submit 10 id=1 class=interactive outputs=4 prompt=1\n= maybe\n"),
            "line 4: 'accepted' or 'refused' expected");
  EXPECT_EQ(error_of(planned + "absorb 90 step=2 us=60 prefill:1+1\n"), "line 7: absorb of a step that is not running");
  EXPECT_EQ(error_of(planned + "absorb 90 step=1 us=80 prefill:1+1\n"),
            "line 7: the step is longer than the time it had");
  EXPECT_EQ(error_of(planned + "absorb 90 step=1 us=60\n"), "line 7: not as many rows as the plan has");
  EXPECT_EQ(error_of(planned + "absorb 90 step=1 us=60 prefill:1+2\n"), "line 7: more tokens than the row can yield");
  EXPECT_EQ(error_of(planned + "next 21\n= idle\n"), "line 8: next, but the step before was not absorbed");
  EXPECT_EQ(error_of(planned + "absorb 15 step=1 us=1 prefill:1+1\n"),
            "line 7: the time is before that of the call above");
}

TEST(PlanText, ReadsBackTheWork) {
  contract::StepPlan plan;
  plan.step = 9;
  plan.preempted = {contract::RequestId{7}};
  plan.prefill_chunks = {{contract::RequestId{1}, 0, 128, false, {}}, {contract::RequestId{2}, 5, 9, true, {}}};
  plan.decode_rows = {{contract::RequestId{4}, 77, {12, 13}, {}}};
  const auto parsed = parse_plan_work(to_text(plan));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, plan);
  plan.decode_rows[0].pages_added = {contract::PageId{5}};
  plan.page_copies = {{contract::PageId{3}, contract::PageId{5}}};
  const auto with_pages = parse_plan_work(to_text(plan));
  ASSERT_TRUE(with_pages.ok());
  EXPECT_EQ(with_pages->decode_rows[0].draft_tokens.size(), 2u);
  for (const char* wrong : {"", "step=0", "step=1", "step=1 prefill:1[5,5)", "step=1 prefill:1[0,99999999)",
                            "step=1 decode:1@", "idle decode:1@3", "step=1 prefill:1[0,3)lastly", "foo"}) {
    EXPECT_FALSE(parse_plan_work(wrong).ok()) << wrong;
  }
  EXPECT_EQ(parse_plan_work("idle wake=77")->wake_at, base::Micros(77));
}

}  // namespace
}  // namespace takt::worlds
