// The division of a step by marginal cost, with numbers that can be checked by hand.
#include "worlds/time_ledger.h"

#include <gtest/gtest.h>

#include <numeric>

namespace takt::tests {
namespace {

using contract::Phase;
using contract::RequestId;
using contract::TimePart;
using contract::TimeParts;

constexpr RequestId kChat{1}, kOther{2}, kLong{3}, kLonger{4};

// 1000 us a step, 100 us a prompt token, 50 us a decode row; short of pages when told.
class KnownTimes final : public contract::SchedulerPort {
 public:
  contract::Admission submit(const contract::Request&, base::Micros) override { return {}; }
  void cancel(RequestId, base::Micros) override {}
  contract::StepPlan next(base::Micros) override { return {}; }
  void absorb(const contract::StepResult&, base::Micros) override {}
  contract::Bounds bounds() const override { return {}; }
  base::Micros predict(const contract::StepShape& shape) const override {
    if (!is_measured) return base::Micros(0);
    return base::Micros(1000 + 100 * int64_t{shape.prefill_tokens} + 50 * int64_t{shape.decode_rows});
  }
  bool is_short_of_pages() const override { return is_short; }
  bool is_measured = true, is_short = false;
};

class Ledger : public testing::Test {
 protected:
  void submit(RequestId id, int64_t now) { ledger_.submit(id, base::Micros(now)); }
  void begin(std::vector<contract::PrefillChunk> chunks, std::vector<contract::DecodeRow> rows, int64_t now,
             std::vector<RequestId> preempted = {}) {
    contract::StepPlan plan;
    plan.step = ++step_;
    plan.prefill_chunks = std::move(chunks);
    plan.decode_rows = std::move(rows);
    plan.preempted = std::move(preempted);
    ledger_.begin_step(plan, times_, base::Micros(now));
  }
  void end(int64_t duration, int64_t sampling, int64_t now) {
    contract::StepResult result;
    result.step = step_;
    result.duration = base::Micros(duration);
    ledger_.end_step(result, base::Micros(sampling), base::Micros(now));
  }
  static contract::PrefillChunk chunk(RequestId id, uint32_t begin, uint32_t end) { return {id, begin, end, true, {}}; }
  static contract::DecodeRow row(RequestId id, uint32_t position) { return {id, position, {}, {}}; }

  KnownTimes times_;
  worlds::TimeLedger ledger_;
  uint64_t step_ = 0;
};

TEST_F(Ledger, AChunkOwesWhatTheStepWouldHaveBeenShorterWithoutIt) {
  submit(kChat, 0);
  submit(kLong, 0);
  begin({chunk(kLong, 0, 10)}, {row(kChat, 5)}, 100);
  end(4100, 0, 4300);  // twice what was expected: 1000 + 10 x 100 + 50 = 2050; and 100 us of the host
  const TimeParts parts = ledger_.take(kChat, base::Micros(4300));
  EXPECT_EQ(parts[TimePart::queue].count(), 100);
  EXPECT_EQ(parts[TimePart::other_prefill].count(), 2000);
  EXPECT_EQ(parts[TimePart::own_compute].count(), 2100);
  EXPECT_EQ(parts[TimePart::host].count(), 100);
  EXPECT_EQ(parts.total().count(), 4300);
  ASSERT_EQ(parts.causes.size(), 1u);
  EXPECT_EQ(parts.causes[0], (TimeParts::Cause{kLong, base::Micros(2000), 10}));
  const TimeParts of_long = ledger_.take(kLong, base::Micros(4300));
  EXPECT_EQ(of_long[TimePart::other_decode].count(), 100);
  EXPECT_EQ(of_long[TimePart::own_compute].count(), 4000);
}

TEST_F(Ledger, SeveralOthersShareInProportion) {
  for (const RequestId id : {kChat, kOther, kLong, kLonger}) submit(id, 0);
  begin({chunk(kLong, 0, 10), chunk(kLonger, 0, 30)}, {row(kChat, 5), row(kOther, 9)}, 0);
  end(5100, 0, 5100);  // exactly as expected
  const TimeParts parts = ledger_.take(kChat, base::Micros(5100));
  EXPECT_EQ(parts[TimePart::own_compute].count(), 1050);
  EXPECT_EQ(parts[TimePart::other_decode].count(), 50);
  EXPECT_EQ(parts[TimePart::other_prefill].count(), 4000);
  ASSERT_EQ(parts.causes.size(), 2u);
  EXPECT_EQ(parts.causes[0].micros.count(), 1000);
  EXPECT_EQ(parts.causes[1].micros.count(), 3000);
}

TEST_F(Ledger, WithoutEstimatesRowsDivide) {
  times_.is_measured = false;
  submit(kChat, 0);
  submit(kLong, 0);
  begin({chunk(kLong, 0, 9)}, {row(kChat, 5)}, 0);
  end(1000, 0, 1000);
  const TimeParts parts = ledger_.take(kChat, base::Micros(1000));
  EXPECT_EQ(parts[TimePart::own_compute].count(), 100);
  EXPECT_EQ(parts[TimePart::other_prefill].count(), 900);
}

TEST_F(Ledger, SamplingIsTakenOffFirst) {
  submit(kChat, 0);
  begin({chunk(kChat, 0, 4)}, {}, 10);
  end(900, 200, 1010);
  const TimeParts parts = ledger_.take(kChat, base::Micros(1010));
  EXPECT_EQ(parts[TimePart::sampling].count(), 200);
  EXPECT_EQ(parts[TimePart::own_compute].count(), 700);
  EXPECT_EQ(parts[TimePart::host].count(), 100);
}

TEST_F(Ledger, APreemptionWaitsAndThenEvaluatesAgain) {
  submit(kChat, 0);
  submit(kOther, 0);
  begin({chunk(kChat, 0, 8)}, {}, 0);
  end(1000, 0, 1000);
  ledger_.take(kChat, base::Micros(1000));
  begin({chunk(kOther, 0, 8)}, {}, 1100, {kChat});
  end(1000, 0, 2100);
  begin({chunk(kChat, 0, 10)}, {}, 2200);
  end(1000, 0, 3200);
  const TimeParts parts = ledger_.take(kChat, base::Micros(3200));
  EXPECT_EQ(parts[TimePart::host].count(), 100);         // until it was preempted
  EXPECT_EQ(parts[TimePart::preemption].count(), 1100);  // from there to its new start
  EXPECT_EQ(parts[TimePart::recompute].count(), 800);    // 8 of the 10 positions
  EXPECT_EQ(parts[TimePart::own_compute].count(), 200);
  EXPECT_EQ(parts.total().count(), 2200);
}

TEST_F(Ledger, WaitingForPagesIsNotWaitingForATurn) {
  submit(kChat, 0);
  begin({chunk(kChat, 0, 8)}, {}, 0);
  submit(kLong, 400);
  end(1000, 0, 1000);
  times_.is_short = true;
  begin({}, {row(kChat, 8)}, 1000);
  end(1000, 0, 2000);
  times_.is_short = false;
  begin({chunk(kLong, 0, 8)}, {}, 2000);
  end(1000, 0, 3000);
  const TimeParts parts = ledger_.take(kLong, base::Micros(3000));
  EXPECT_EQ(parts[TimePart::queue].count(), 600);
  EXPECT_EQ(parts[TimePart::kv_wait].count(), 1000);
  EXPECT_EQ(parts.total().count(), 2600);
}

TEST_F(Ledger, WhoEndedDuringTheStepIsLeftAlone) {
  submit(kChat, 0);
  begin({chunk(kChat, 0, 8)}, {}, 0);
  ledger_.forget(kChat);
  end(1000, 0, 1000);
  EXPECT_EQ(ledger_.take(kChat, base::Micros(1000)).total().count(), 0);
}

TEST(TimeParts, DividesExactly) {
  for (const int64_t total : {int64_t{0}, int64_t{1}, int64_t{999'999'999'999}}) {
    for (const std::vector<int64_t>& weights :
         {std::vector<int64_t>{0, 0}, {3, 3, 3}, {int64_t{1} << 60, 1, int64_t{1} << 60}}) {
      const std::vector<int64_t> shares = contract::divide_exactly(total, weights);
      EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), total);
      for (size_t i = 0; i < shares.size(); ++i) {
        EXPECT_GE(shares[i], 0);
        if (weights[i] == 0 && i > 0) {
          EXPECT_EQ(shares[i], 0);
        }
      }
    }
  }
}

TEST(TimeParts, TakesHostTimeBeforeStepTime) {
  TimeParts parts;
  parts[TimePart::host] = base::Micros(30);
  parts[TimePart::own_compute] = base::Micros(100);
  parts[TimePart::other_prefill] = base::Micros(300);
  parts.add_cause(kLong, base::Micros(100), 5);
  parts.add_cause(kLonger, base::Micros(200), 9);
  parts.take_from_front(base::Micros(20));
  EXPECT_EQ(parts[TimePart::host].count(), 10);
  EXPECT_EQ(parts[TimePart::other_prefill].count(), 300);
  parts.take_from_front(base::Micros(210));
  EXPECT_EQ(parts[TimePart::host].count(), 0);
  EXPECT_EQ(parts[TimePart::own_compute].count(), 50);
  EXPECT_EQ(parts[TimePart::other_prefill].count(), 150);
  EXPECT_EQ(parts.causes[0].micros.count(), 50);
  EXPECT_EQ(parts.causes[1].micros.count(), 100);
}

}  // namespace
}  // namespace takt::tests
