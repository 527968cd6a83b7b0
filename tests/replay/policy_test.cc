// What the policy promises, on a machine whose steps take known times: limits kept, prompts not starved, classes and API keys
// served in their turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "scheduler/ranking.h"
#include "scheduler/scheduler.h"

namespace takt {
namespace {

using base::Micros;
using contract::ServiceClass;

// Runs a scheduler against steps of 10 ms and 1 ms a row, and keeps what each request saw.
class Machine {
 public:
  struct Seen {
    int64_t submitted = 0, first_token = 0, last_token = 0, finished = 0;
    std::vector<int64_t> gaps;
    int64_t outputs_left = 0;
  };

  explicit Machine(contract::ServicePolicy policy = {}, uint32_t rows_max = 64) {
    contract::Capacity capacity;
    capacity.page_count = 4096;
    capacity.context_tokens = 16384;
    capacity.rows_max = rows_max;
    auto made = scheduler::make_scheduler(capacity, policy);
    EXPECT_TRUE(made.ok());
    scheduler_ = std::move(made.value());
  }

  contract::Admission submit(uint64_t id, int64_t prompt_tokens, int64_t outputs,
                             ServiceClass service_class = ServiceClass::interactive, uint64_t tenant = 0) {
    contract::Request request;
    request.id = contract::RequestId{id};
    request.prompt = std::make_shared<const std::vector<contract::TokenId>>(static_cast<size_t>(prompt_tokens),
                                                                            static_cast<contract::TokenId>(id));
    request.output_tokens_max = base::Tokens(outputs);
    request.service_class = service_class;
    request.tenant = tenant;
    contract::Admission admission = scheduler_->submit(request, Micros(now_));
    if (admission.is_accepted) {
      seen[id].submitted = now_;
      seen[id].outputs_left = outputs;
    }
    return admission;
  }

  // Returns false when there is nothing to do.
  bool step() {
    contract::StepPlan plan = scheduler_->next(Micros(now_));
    if (!plan.has_work()) return false;
    contract::StepResult result;
    result.step = plan.step;
    int64_t us = 10'000;
    for (const auto& chunk : plan.prefill_chunks) us += 1'000 * (chunk.end - chunk.begin);
    us += 1'000 * static_cast<int64_t>(plan.decode_rows.size());
    result.duration = Micros(us);
    now_ += us;
    for (const auto& chunk : plan.prefill_chunks)
      result.rows.push_back(row(chunk.request, contract::Phase::prefill, chunk.is_last));
    for (const auto& decode : plan.decode_rows)
      result.rows.push_back(row(decode.request, contract::Phase::decode, true));
    scheduler_->absorb(result, Micros(now_));
    last_plan = std::move(plan);
    return true;
  }
  void run() {
    while (step()) {
    }
  }
  // Decodes so long that the costs of all kinds of steps are known.
  void warm_up() {
    submit(9'000, 600, 30);
    for (int i = 0; i < 10; ++i) step();
    submit(9'001, 300, 30);
    submit(9'002, 40, 30);
    run();
  }

  contract::SchedulerPort& scheduler() { return *scheduler_; }
  int64_t now() const { return now_; }

  std::map<uint64_t, Seen> seen;
  contract::StepPlan last_plan;

 private:
  contract::RowResult row(contract::RequestId id, contract::Phase phase, bool yields_token) {
    contract::RowResult result;
    result.request = id;
    result.phase = phase;
    if (!yields_token) return result;
    Seen& request = seen[id.value];
    result.tokens_accepted = 1;
    if (request.first_token == 0) request.first_token = now_;
    if (request.last_token > 0) request.gaps.push_back(now_ - request.last_token);
    request.last_token = now_;
    if (--request.outputs_left == 0) {
      result.finish = contract::FinishReason::length;
      request.finished = now_;
    }
    return result;
  }

  std::unique_ptr<contract::SchedulerPort> scheduler_;
  int64_t now_ = 0;
};

contract::ServicePolicy with_itl(int64_t us) {
  contract::ServicePolicy policy;
  policy.of(ServiceClass::interactive).itl_max = Micros(us);
  return policy;
}

TEST(Policy, ALongPromptKeepsTheGapsOfChatsWithinTheirLimitAndIsNotStarved) {
  for (const int64_t limit_us : {30'000, 60'000, 120'000}) {
    Machine machine(with_itl(limit_us));
    machine.warm_up();
    for (uint64_t chat = 1; chat <= 4; ++chat) machine.submit(chat, 20, 2'000);
    for (int i = 0; i < 20; ++i) machine.step();
    machine.submit(5, 3'000, 2);
    while (machine.seen[5].finished == 0) ASSERT_TRUE(machine.step());
    for (uint64_t chat = 1; chat <= 4; ++chat) {
      const auto& gaps = machine.seen[chat].gaps;
      EXPECT_LE(*std::max_element(gaps.begin() + 10, gaps.end()), limit_us) << "limit " << limit_us;
    }
    // A step has room for limit - 14 ms of prompt. The margin and the grain may take a quarter of it.
    const double ideal_us = 3'000.0 * 1'000 / static_cast<double>(limit_us - 14'000) * static_cast<double>(limit_us);
    EXPECT_LE(static_cast<double>(machine.seen[5].first_token - machine.seen[5].submitted), 1.35 * ideal_us)
        << "limit " << limit_us;
  }
}

TEST(Policy, WithNobodyDecodingAStepKeepsItsLongestTime) {
  contract::ServicePolicy policy;
  policy.step_us_max = Micros(100'000);
  Machine machine(policy);
  machine.warm_up();
  machine.submit(1, 4'000, 1);
  int64_t before = machine.now();
  while (machine.step()) {
    EXPECT_LE(machine.now() - before, 100'000);
    before = machine.now();
  }
}

TEST(Policy, ALimitThatCannotBeKeptHoldsRequestsBackButNotForEver) {
  Machine machine(with_itl(12'000));  // one row alone takes 11 ms, and 4 tokens of a prompt 4 more
  machine.warm_up();
  for (uint64_t chat = 1; chat <= 3; ++chat) machine.submit(chat, 8, 2'000);
  machine.submit(4, 200, 1);
  while (machine.seen[1].first_token == 0) ASSERT_TRUE(machine.step());
  EXPECT_EQ(machine.seen[2].first_token, 0) << "held back for the sake of the first";
  while (machine.seen[4].first_token == 0) ASSERT_TRUE(machine.step());
  EXPECT_LT(machine.seen[4].first_token - machine.seen[4].submitted, 8'000'000);
  EXPECT_GT(machine.scheduler().bounds().attainment[0].gaps_late, 0u) << "broken promises are counted";
}

TEST(Policy, ShortPromptsPassALongOneAndItStillEnds) {
  Machine machine;
  machine.warm_up();
  machine.submit(1, 6'000, 8);
  machine.step();
  for (uint64_t i = 0; i < 32; ++i) machine.submit(100 + i, 100, 8);
  machine.run();
  for (uint64_t i = 0; i < 32; ++i) {
    EXPECT_LT(machine.seen[100 + i].first_token, machine.seen[1].first_token);
  }
  EXPECT_GT(machine.seen[1].finished, 0);
}

TEST(Policy, AStreamOfShortPromptsDelaysALongOneByABoundedTime) {
  Machine machine;
  machine.warm_up();
  const int64_t begin = machine.now();
  machine.submit(1, 2'000, 1);
  // Shorts that by themselves keep the machine busy, for ever.
  for (uint64_t i = 0; machine.seen[1].first_token == 0; ++i) {
    ASSERT_LT(i, 10'000u) << "starved";
    machine.submit(100 + i, 100, 1);
    machine.step();
  }
  const int64_t alone_us = 2'000 * 1'000 + 2'000 / 128 * 10'000;
  EXPECT_LT(machine.now() - begin, (scheduler::kStretch + 2) * alone_us);
}

TEST(Policy, BackgroundWorkTakesOnlyWhatTheChatsLeave) {
  Machine machine(with_itl(50'000));
  machine.warm_up();
  for (uint64_t chat = 1; chat <= 4; ++chat) machine.submit(chat, 20, 1'000);
  for (int i = 0; i < 10; ++i) machine.step();
  for (uint64_t job = 0; job < 40; ++job) machine.submit(100 + job, 60, 40, ServiceClass::background);
  while (machine.seen[1].finished == 0) ASSERT_TRUE(machine.step());
  for (uint64_t chat = 1; chat <= 4; ++chat) {
    const auto& gaps = machine.seen[chat].gaps;
    std::vector<int64_t> sorted(gaps.begin() + 10, gaps.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_LE(sorted[sorted.size() * 99 / 100], 50'000);
  }
  int64_t background_tokens = 0;
  for (uint64_t job = 0; job < 40; ++job) background_tokens += 40 - machine.seen[100 + job].outputs_left;
  EXPECT_EQ(background_tokens, 40 * 40) << "there was time for all of it";
}

TEST(Policy, ReservedRowsAreLeftFree) {
  contract::ServicePolicy policy;
  policy.of(ServiceClass::interactive).decode_rows_reserved = 2;
  Machine machine(policy, 4);
  for (uint64_t job = 0; job < 8; ++job) machine.submit(100 + job, 10, 50, ServiceClass::batch);
  for (int i = 0; i < 5; ++i) machine.step();
  EXPECT_EQ(machine.scheduler().bounds().decoding_requests, 2u);
  machine.submit(1, 10, 50);
  machine.submit(2, 10, 50);
  for (int i = 0; i < 3; ++i) machine.step();
  EXPECT_EQ(machine.scheduler().bounds().decoding_requests, 4u);
  EXPECT_EQ(machine.scheduler().bounds().preemptions, 0u);
  EXPECT_GT(machine.seen[1].first_token, 0);
  machine.run();
  EXPECT_GT(machine.seen[107].finished, 0);
}

TEST(Policy, AFloodOfOneKeyDoesNotHoldUpAnother) {
  Machine machine({}, 2);
  machine.warm_up();
  for (uint64_t i = 0; i < 60; ++i) machine.submit(100 + i, 200, 2, ServiceClass::interactive, /*tenant=*/1);
  machine.step();
  machine.submit(1, 200, 2, ServiceClass::interactive, /*tenant=*/2);
  machine.run();
  uint64_t earlier = 0;
  for (uint64_t i = 0; i < 60; ++i) earlier += machine.seen[100 + i].first_token < machine.seen[1].first_token ? 1 : 0;
  EXPECT_LE(earlier, 8u);
}

TEST(Policy, TwoFloodsAreServedInTurns) {
  Machine machine({}, 2);
  machine.warm_up();
  for (uint64_t i = 0; i < 30; ++i) machine.submit(100 + i, 200, 2, ServiceClass::interactive, /*tenant=*/1);
  for (uint64_t i = 0; i < 30; ++i) machine.submit(200 + i, 200, 2, ServiceClass::interactive, /*tenant=*/2);
  machine.run();
  for (uint64_t i = 5; i < 30; ++i) {
    EXPECT_LT(machine.seen[100 + i - 5].first_token, machine.seen[200 + i].first_token);
    EXPECT_LT(machine.seen[200 + i - 5].first_token, machine.seen[100 + i].first_token);
  }
}

TEST(Policy, PredictsTheFirstToken) {
  Machine machine;
  machine.warm_up();
  for (uint64_t i = 1; i <= 10; ++i) {
    const contract::Admission admission = machine.submit(i, 400, 4);
    ASSERT_TRUE(admission.predicted_ttft);
    machine.seen[i].gaps.push_back(admission.predicted_ttft->count());  // kept in front
  }
  machine.run();
  for (uint64_t i = 1; i <= 10; ++i) {
    const auto real = static_cast<double>(machine.seen[i].first_token - machine.seen[i].submitted);
    const auto predicted = static_cast<double>(machine.seen[i].gaps[0]);
    EXPECT_NEAR(predicted / real, 1.0, 0.35) << i;
  }
}

TEST(Policy, RefusesAtOnceWhoCannotBeInTime) {
  contract::ServicePolicy policy;
  policy.of(ServiceClass::interactive).ttft_max = Micros(1'500'000);
  policy.late_admission = contract::LateAdmission::refuse;
  Machine machine(policy);
  machine.warm_up();
  int accepted = 0, refused = 0;
  for (uint64_t i = 1; i <= 20; ++i) {
    const contract::Admission admission = machine.submit(i, 200, 2);
    ++(admission.is_accepted ? accepted : refused);
    if (!admission.is_accepted) {
      EXPECT_EQ(admission.refusal, base::ErrorCode::limit_unreachable);
      EXPECT_GT(admission.retry_after.count(), 0);
    }
  }
  EXPECT_GE(accepted, 4);
  EXPECT_GE(refused, 10);
  machine.run();
  const contract::ClassAttainment attainment = machine.scheduler().bounds().attainment[0];
  EXPECT_LE(attainment.first_tokens_late, 2u);
}

}  // namespace
}  // namespace takt
