#include "scheduler/pages/preemption_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace takt::scheduler {
namespace {

using base::Micros;
using contract::ServiceClass;

constexpr uint32_t kPageTokens = 4;

class PreemptionLossTest : public testing::Test {
 protected:
  // A decoding sequence of `tokens` tokens on pages of its own, behind `shared`.
  Sequence resident(uint64_t arrival, uint32_t tokens, std::vector<contract::PageId> shared = {}) {
    Sequence sequence;
    sequence.rank = {Micros(0), arrival};
    sequence.stage = Stage::decoding;
    sequence.tokens_produced = 1;
    sequence.tokens_evaluated = tokens;
    for (const contract::PageId page : shared) pages_.add_owner(page);
    sequence.pages = std::move(shared);
    while (sequence.pages.size() < pages_for(tokens, kPageTokens)) sequence.pages.push_back(*pages_.try_take());
    return sequence;
  }
  PreemptionLoss loss(const Sequence& sequence) {
    return loss_of(sequence, pages_, kPageTokens, policy_, estimator_, now_);
  }
  // 10 ms and 1 ms a token.
  void learn() {
    for (const uint32_t tokens : {1u, 4u, 16u, 32u, 64u, 256u}) {
      StepShape shape;
      shape.add_prefill(0, tokens, false);
      for (int i = 0; i < 20; ++i) estimator_.learn(shape, Micros(10'000 + 1'000 * tokens));
    }
  }

  PagePool pages_{64};
  contract::ServicePolicy policy_;
  StepEstimator estimator_;
  Micros now_{1'000'000};
};

TEST_F(PreemptionLossTest, TheShorterLosesLessBeforeAnythingWasMeasuredAndAfter) {
  const Sequence first = resident(1, 12), second = resident(2, 40);
  EXPECT_LT(loss(first), loss(second));
  learn();
  EXPECT_LT(loss(first), loss(second));
  EXPECT_NEAR(static_cast<double>(loss(second).again.count()), 50'000, 15'000);
}

TEST_F(PreemptionLossTest, OfEqualsTheLaterGivesWay) {
  const Sequence first = resident(1, 12), second = resident(2, 12);
  EXPECT_LT(loss(second), loss(first));
  EXPECT_FALSE(loss(first) < loss(second));
  EXPECT_FALSE(loss(first) < loss(first));
}

TEST_F(PreemptionLossTest, SharedPagesAreNotLost) {
  const Sequence owner = resident(1, 32), sharer = resident(2, 36, owner.pages), other = resident(3, 8);
  EXPECT_LT(loss(sharer), loss(other)) << "4 tokens of its own, not 8";
  EXPECT_TRUE(loss(owner).frees_nothing);
  EXPECT_LT(loss(other), loss(owner)) << "nobody gets a page by it";
}

TEST_F(PreemptionLossTest, WhoWouldBreakItsLimitGivesWayAfterThoseWhoWouldNot) {
  learn();
  policy_.of(ServiceClass::interactive).itl_max = Micros(100'000);
  policy_.of(ServiceClass::interactive).ttft_max = Micros(2'000'000);
  Sequence chat = resident(1, 12), prompt = resident(2, 40);
  chat.last_token = now_ - Micros(90'000);  // 10 ms are left, it would take 22
  prompt.tokens_produced = 0;
  prompt.submitted = now_ - Micros(500'000);
  EXPECT_GT(loss(chat).late.count(), 0);
  EXPECT_EQ(loss(prompt).late.count(), 0);
  EXPECT_LT(loss(prompt), loss(chat));
  prompt.submitted = now_ - Micros(1'990'000);
  EXPECT_LT(loss(chat), loss(prompt)) << "12 ms late against 40";
}

TEST_F(PreemptionLossTest, BackgroundGivesWayBeforeAChatAlthoughItTakesLonger) {
  learn();
  const Sequence chat = resident(1, 12);
  Sequence job = resident(2, 60);
  job.service_class = ServiceClass::background;
  EXPECT_LT(loss(job), loss(chat));
}

}  // namespace
}  // namespace takt::scheduler
