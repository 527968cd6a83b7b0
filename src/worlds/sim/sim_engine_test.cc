#include "worlds/sim/sim_engine.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

namespace takt::worlds {
namespace {

using contract::FinishReason;
using contract::PageId;
using contract::RequestId;

constexpr RequestId kA{1}, kB{2}, kC{3}, kD{4};

contract::Capacity capacity() {
  contract::Capacity capacity;
  capacity.page_count = 8;
  capacity.page_tokens = 4;
  capacity.context_tokens = 32;
  capacity.rows_max = 2;
  capacity.step_tokens_max = 12;
  capacity.chunk_tokens_beside_decode = 4;
  return capacity;
}

// Prompts count up from the request's number, so that no two begin alike.
contract::Request request_of(RequestId id, uint32_t prompt_tokens) {
  std::vector<contract::TokenId> prompt(prompt_tokens);
  std::iota(prompt.begin(), prompt.end(), static_cast<contract::TokenId>(id.value));
  contract::Request request;
  request.id = id;
  request.prompt = std::make_shared<const std::vector<contract::TokenId>>(std::move(prompt));
  return request;
}

// An engine in the middle of its work: A decodes (5 prompt tokens, 1 produced), 4 of B's 10 prompt tokens are evaluated.
SimEngine engine_at_work() {
  SimEngine engine(capacity());
  engine.admit(request_of(kA, 5), 3, 10);
  engine.admit(request_of(kB, 10), 20, 2);
  contract::StepPlan plan;
  plan.step = 1;
  plan.prefill_chunks = {{kA, 0, 5, true, {PageId{0}, PageId{1}}}, {kB, 0, 4, false, {PageId{2}}}};
  EXPECT_TRUE(engine.start(plan).ok());
  const auto rows = engine.complete();
  EXPECT_EQ(rows[0].tokens_accepted, 1u);
  EXPECT_EQ(rows[0].tokens.size(), 1u);
  EXPECT_EQ(rows[1], (contract::RowResult{kB, contract::Phase::prefill, 0, FinishReason::none, {}}));
  return engine;
}

contract::StepPlan good_plan() {
  contract::StepPlan plan;
  plan.step = 2;
  plan.prefill_chunks = {{kB, 4, 8, false, {PageId{3}}}};
  plan.decode_rows = {{kA, 5, {}, {}}};
  return plan;
}

TEST(SimEngine, RunsAGoodPlanAndEndsRequestsAtTheirTokens) {
  SimEngine engine = engine_at_work();
  contract::StepPlan plan = good_plan();
  ASSERT_TRUE(engine.start(plan).ok());
  EXPECT_EQ(engine.complete()[1].finish, FinishReason::none);
  plan = {};
  plan.step = 3;
  plan.prefill_chunks = {{kB, 8, 10, true, {PageId{4}}}};
  plan.decode_rows = {{kA, 6, {}, {}}};
  ASSERT_TRUE(engine.start(plan).ok());
  EXPECT_EQ(engine.complete()[1].finish, FinishReason::length) << "A may have 3 tokens";
  engine.release(kA);
  EXPECT_EQ(engine.pages_owned(), 3u);
  plan = {};
  plan.step = 4;
  plan.decode_rows = {{kB, 10, {}, {}}};
  ASSERT_TRUE(engine.start(plan).ok());
  EXPECT_EQ(engine.complete()[0].finish, FinishReason::stop) << "B stops by itself after 2";
}

TEST(SimEngine, APreemptedRequestBeginsAgainWithWhatItHasProduced) {
  SimEngine engine = engine_at_work();
  contract::StepPlan plan;
  plan.step = 2;
  plan.preempted = {kA};
  plan.prefill_chunks = {{kB, 4, 8, false, {PageId{0}}}};
  ASSERT_TRUE(engine.start(plan).ok());
  engine.complete();
  plan = {};
  plan.step = 3;
  plan.prefill_chunks = {{kA, 0, 6, true, {PageId{1}, PageId{3}}}};
  ASSERT_TRUE(engine.start(plan).ok());
  EXPECT_EQ(engine.complete()[0].tokens_accepted, 1u);
}

// C begins with A's whole first page and the first token of its second one.
TEST(SimEngine, RunsAPlanThatSharesAPageAndCopiesAnother) {
  SimEngine engine = engine_at_work();
  contract::Request request = request_of(kA, 7);
  request.id = kC;
  engine.release(kB);
  engine.admit(request, 1, 1);
  contract::StepPlan plan;
  plan.step = 2;
  plan.page_copies = {{PageId{1}, PageId{5}}};
  plan.prefill_chunks = {{kC, 5, 7, true, {PageId{0}, PageId{5}}}};
  SimEngine other_tenant = engine;
  const base::Status status = engine.start(plan);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(engine.pages_owned(), 3u);
  engine.complete();
  engine.release(kA);
  EXPECT_EQ(engine.pages_owned(), 2u) << "C still owns page 0";
  other_tenant.release(kC);
  request.tenant = 5;
  other_tenant.admit(request, 1, 1);
  EXPECT_FALSE(other_tenant.start(plan).ok());
}

struct BrokenPlan {
  const char* says;
  std::function<void(contract::StepPlan&)> break_plan;
};

// Every way in which good_plan() can be made wrong.
std::vector<BrokenPlan> broken_plans() {
  using Plan = contract::StepPlan;
  return {
      {"no work",
       [](Plan& plan) {
         plan.prefill_chunks.clear();
         plan.decode_rows.clear();
       }},
      {"step 3 after 1", [](Plan& plan) { plan.step = 3; }},
      {"prompt tokens beside decode rows",
       [](Plan& plan) {
         plan.prefill_chunks[0].end = 9;
         plan.prefill_chunks[0].pages_added.push_back(PageId{4});
       }},
      {"tokens, the limit is 12",
       [](Plan& plan) {
         plan.decode_rows.clear();
         plan.prefill_chunks[0].end = 17;
       }},
      {"an empty chunk", [](Plan& plan) { plan.prefill_chunks[0].end = 4; }},
      {"begins at 3, but 4",
       [](Plan& plan) {
         plan.prefill_chunks[0].begin = 3;
         plan.prefill_chunks[0].end = 7;
       }},
      {"is_last is wrong", [](Plan& plan) { plan.prefill_chunks[0].is_last = true; }},
      {"behind the sequence",
       [](Plan& plan) {
         plan.decode_rows.clear();
         plan.prefill_chunks[0].end = 11;
         plan.prefill_chunks[0].pages_added = {PageId{3}, PageId{4}};
       }},
      {"position 7 has no page", [](Plan& plan) { plan.prefill_chunks[0].pages_added.clear(); }},
      {"more pages than", [](Plan& plan) { plan.prefill_chunks[0].pages_added.push_back(PageId{4}); }},
      {"page 1 is in use", [](Plan& plan) { plan.prefill_chunks[0].pages_added = {PageId{1}}; }},
      {"page 8 does not exist", [](Plan& plan) { plan.prefill_chunks[0].pages_added = {PageId{8}}; }},
      {"a decode row at 6", [](Plan& plan) { plan.decode_rows[0].position = 6; }},
      {"a decode row at 4", [](Plan& plan) { plan.decode_rows[0].position = 4; }},
      {"before the first token",
       [](Plan& plan) {
         plan.prefill_chunks.clear();
         plan.decode_rows[0] = {kB, 3, {}, {}};
       }},
      {"two rows in one step", [](Plan& plan) { plan.decode_rows.push_back(plan.decode_rows[0]); }},
      {"not admitted", [](Plan& plan) { plan.decode_rows[0].request = RequestId{9}; }},
      {"it owns no page", [](Plan& plan) { plan.preempted = {RequestId{9}}; }},
      {"copy 0>2: the target is in use",
       [](Plan& plan) {
         plan.page_copies = {{PageId{0}, PageId{2}}};
       }},
      {"copy 0>8: no such page",
       [](Plan& plan) {
         plan.page_copies = {{PageId{0}, PageId{8}}};
       }},
      {"page 5 does not hold its position 0",
       [](Plan& plan) {
         plan.prefill_chunks = {{kC, 4, 5, true, {PageId{5}, PageId{6}}}};
       }},
      {"page 0 does not hold its position 0",  // of A's tokens, which are others
       [](Plan& plan) {
         plan.prefill_chunks = {{kC, 4, 5, true, {PageId{0}, PageId{6}}}};
       }},
      {"page 5 does not hold its position 3",  // the copy of a page of which C shares nothing
       [](Plan& plan) {
         plan.page_copies = {{PageId{2}, PageId{5}}};
         plan.prefill_chunks = {{kD, 4, 6, true, {PageId{5}, PageId{6}}}};
       }},
  };
}

// All must be seen: the random runs rest on it.
TEST(SimEngine, RefusesEveryBrokenPlan) {
  for (const BrokenPlan& broken : broken_plans()) {
    SimEngine engine = engine_at_work();
    engine.admit(request_of(kC, 5), 1, 1);
    contract::Request almost_b = request_of(kB, 6);  // B's first three tokens
    almost_b.id = kD;
    auto prompt = *almost_b.prompt;
    prompt[3] = 77;
    almost_b.prompt = std::make_shared<const std::vector<contract::TokenId>>(prompt);
    engine.admit(almost_b, 1, 1);
    contract::StepPlan plan = good_plan();
    broken.break_plan(plan);
    const base::Status status = engine.start(plan);
    ASSERT_FALSE(status.ok()) << broken.says;
    EXPECT_NE(status.error().message.find(broken.says), std::string::npos) << status.error().message;
  }
}

TEST(SimEngine, RefusesMoreRowsThanTheCapacityHas) {
  SimEngine engine = engine_at_work();
  engine.admit(request_of(RequestId{3}, 1), 1, 1);
  contract::StepPlan plan = good_plan();
  plan.prefill_chunks = {{RequestId{3}, 0, 1, true, {PageId{5}}}};
  const base::Status status = engine.start(plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("limit of rows"), std::string::npos);
}

}  // namespace
}  // namespace takt::worlds
