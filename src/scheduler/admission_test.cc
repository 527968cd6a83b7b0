#include "scheduler/admission.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace takt::scheduler {
namespace {

using base::ErrorCode;

contract::Capacity small_capacity() {
  contract::Capacity capacity;
  capacity.page_count = 16;
  capacity.page_tokens = 32;
  capacity.context_tokens = 256;
  capacity.rows_max = 4;
  capacity.waiting_requests_max = 3;
  capacity.waiting_tokens_max = base::Tokens(100);
  return capacity;
}

contract::Request request_of(int64_t prompt_tokens, int64_t outputs) {
  contract::Request request;
  request.id = contract::RequestId{1};
  request.prompt = std::make_shared<const std::vector<contract::TokenId>>(static_cast<size_t>(prompt_tokens));
  request.output_tokens_max = base::Tokens(outputs);
  return request;
}

contract::Admission decide(const contract::Request& request, uint32_t waiting = 0, int64_t waiting_tokens = 0) {
  return decide_admission(request, small_capacity(), waiting, base::Tokens(waiting_tokens));
}

TEST(Admission, CapsTheOutputByTheContext) {
  EXPECT_EQ(decide(request_of(100, 50)).output_tokens_max.count(), 50);
  EXPECT_EQ(decide(request_of(100, 1'000'000)).output_tokens_max.count(), 156);
  EXPECT_EQ(decide(request_of(255, 10)).output_tokens_max.count(), 1);
}

TEST(Admission, APromptThatFillsTheContextIsOnlyEvaluated) {
  EXPECT_TRUE(decide(request_of(256, 0)).is_accepted);
  const contract::Admission refused = decide(request_of(256, 1));
  EXPECT_FALSE(refused.is_accepted);
  EXPECT_EQ(refused.refusal, ErrorCode::exceed_context_size);
  EXPECT_EQ(refused.reason, "the prompt has 256 tokens, the context 256: no position is left for an answer");
}

TEST(Admission, ALongerPromptIsRefusedWithBothNumbers) {
  const contract::Admission refused = decide(request_of(300, 0));
  EXPECT_EQ(refused.refusal, ErrorCode::exceed_context_size);
  EXPECT_EQ(refused.reason, "the prompt has 300 tokens, the context 256");
}

TEST(Admission, ThePagePoolLimitsARequestWhereItIsSmallerThanTheContext) {
  contract::Capacity capacity = small_capacity();
  capacity.page_count = 2;
  const auto decide_small = [&](const contract::Request& request) {
    return decide_admission(request, capacity, 0, base::Tokens(0));
  };
  EXPECT_EQ(decide_small(request_of(65, 0)).refusal, ErrorCode::exceed_context_size);
  EXPECT_EQ(decide_small(request_of(60, 100)).output_tokens_max.count(), 4);
}

TEST(Admission, RefusesWhatIsNoRequest) {
  contract::Request without_prompt = request_of(1, 1);
  without_prompt.prompt = nullptr;
  EXPECT_EQ(decide(without_prompt).refusal, ErrorCode::invalid_argument);
  EXPECT_EQ(decide(request_of(0, 1)).refusal, ErrorCode::invalid_argument);
  EXPECT_EQ(decide(request_of(1, -1)).refusal, ErrorCode::invalid_argument);
}

TEST(Admission, BoundsTheQueueByCountAndByTokens) {
  EXPECT_TRUE(decide(request_of(10, 1), 2, 90).is_accepted);
  const contract::Admission too_many = decide(request_of(10, 1), 3, 30);
  EXPECT_EQ(too_many.refusal, ErrorCode::queue_full);
  EXPECT_EQ(too_many.reason, "3 requests are waiting, the limit is 3");
  const contract::Admission too_long = decide(request_of(11, 1), 2, 90);
  EXPECT_EQ(too_long.refusal, ErrorCode::queue_full);
  EXPECT_EQ(too_long.reason, "90 prompt tokens are waiting and this prompt has 11, the limit is 100");
  EXPECT_TRUE(decide(request_of(200, 1), 0, 0).is_accepted) << "a prompt above the limit may wait alone";
}

TEST(Admission, ChecksTheCapacity) {
  EXPECT_TRUE(check(small_capacity()).ok());
  for (uint32_t contract::Capacity::*field :
       {&contract::Capacity::page_count, &contract::Capacity::page_tokens, &contract::Capacity::context_tokens,
        &contract::Capacity::rows_max, &contract::Capacity::step_tokens_max}) {
    contract::Capacity capacity = small_capacity();
    capacity.*field = 0;
    EXPECT_FALSE(check(capacity).ok());
    capacity.*field = UINT32_MAX;
    EXPECT_FALSE(check(capacity).ok());
  }
  contract::Capacity capacity = small_capacity();
  capacity.step_tokens_max = 3;
  EXPECT_FALSE(check(capacity).ok()) << "fewer tokens a step than rows";
}

TEST(Admission, ChecksThePolicy) {
  contract::Capacity capacity = small_capacity();
  capacity.rows_max = 4;
  contract::ServicePolicy policy;
  EXPECT_TRUE(check(policy, capacity).ok());
  policy.of(contract::ServiceClass::batch).itl_max = base::Micros(0);
  const base::Status status = check(policy, capacity);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("batch"), std::string::npos);
  policy = {};
  policy.of(contract::ServiceClass::interactive).ttft_max = base::Micros(INT64_MAX);
  EXPECT_FALSE(check(policy, capacity).ok());
  policy = {};
  policy.of(contract::ServiceClass::interactive).decode_rows_reserved = 3;
  EXPECT_TRUE(check(policy, capacity).ok());
  policy.of(contract::ServiceClass::batch).decode_rows_reserved = 1;
  EXPECT_FALSE(check(policy, capacity).ok()) << "nothing is left for background";
  policy = {};
  policy.step_us_max = base::Micros(-1);
  EXPECT_FALSE(check(policy, capacity).ok());
}

TEST(Admission, RefusesWhoWouldBeLateOnlyWhenAskedTo) {
  contract::ServicePolicy policy;
  policy.of(contract::ServiceClass::interactive).ttft_max = base::Micros(1'000'000);
  contract::Admission admission;
  admission.is_accepted = true;
  admission.predicted_ttft = base::Micros(3'500'000);
  refuse_if_late(policy, contract::ServiceClass::interactive, admission);
  EXPECT_TRUE(admission.is_accepted) << "with the prediction in its answer";
  policy.late_admission = contract::LateAdmission::refuse;
  refuse_if_late(policy, contract::ServiceClass::batch, admission);
  EXPECT_TRUE(admission.is_accepted) << "no limit";
  refuse_if_late(policy, contract::ServiceClass::interactive, admission);
  EXPECT_FALSE(admission.is_accepted);
  EXPECT_EQ(admission.refusal, base::ErrorCode::limit_unreachable);
  EXPECT_EQ(admission.retry_after, base::Micros(2'500'000));
  EXPECT_NE(admission.reason.find("3500 ms"), std::string::npos) << admission.reason;
}

}  // namespace
}  // namespace takt::scheduler
