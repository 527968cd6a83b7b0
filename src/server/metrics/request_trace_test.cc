#include "server/metrics/request_trace.h"

#include <gtest/gtest.h>

namespace takt::server {
namespace {

using contract::RequestId;
using contract::TimePart;

// A request whose tokens came every 30 ms, but the third after 212: 174 of them were request 7's prompt.
RequestTrace late_trace() {
  RequestTrace trace;
  trace.facts.received = base::Micros(900);
  contract::RequestTimes times;
  times.submitted = base::Micros(1000);
  times.first_scheduled = base::Micros(2000);
  int64_t now = 1000;
  for (int token = 0; token < 6; ++token) {
    const int64_t gap = token == 3 ? 212'000 : 30'000;
    now += gap;
    contract::RequestOutput output;
    output.tokens.resize(1);
    times.output_tokens += base::Tokens(1);
    times.since_last = {};
    times.since_last[TimePart::own_compute] = base::Micros(token == 3 ? 37'000 : 29'000);
    times.since_last[TimePart::host] = base::Micros(1000);
    if (token == 3) {
      times.since_last[TimePart::other_prefill] = base::Micros(174'000);
      times.since_last.add_cause(RequestId{7}, base::Micros(174'000), 512);
    }
    if (!times.first_token) times.first_token = base::Micros(now);
    if (token == 5) {
      output.finish = contract::FinishReason::length;
      times.finished = base::Micros(now);
    }
    trace.add_output(output, times);
  }
  return trace;
}

TEST(RequestTrace, NamesWhatMadeATokenLate) {
  const auto words = words_of(gaps_of(late_trace()), [](RequestId id) { return "r" + std::to_string(id.value); });
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0],
            "token 3 came 212 ms after the one before (usually 30 ms): 174 ms were request r7's prefill chunk of 512 "
            "tokens, 37 ms its own computation");
  EXPECT_EQ(words[1].substr(0, 34), "the first token came after 30 ms: ");
}

TEST(RequestTrace, TheTimeOnTheNetworkIsNobodysComputation) {
  RequestTrace trace = late_trace();
  EXPECT_EQ(trace.state, RequestState::writing);
  // Delivered at 31, 61, 91, 303, 333 and 363 ms. The second is written when the third is ready: the third waits for the network only.
  trace.note_written(1, base::Micros(31'050));
  trace.note_written(2, base::Micros(95'000));
  trace.note_written(3, base::Micros(96'000));
  trace.note_written(6, base::Micros(400'000));
  trace.note_closed(base::Micros(400'100));
  const auto gaps = gaps_of(trace);
  ASSERT_EQ(gaps.size(), 6u);
  int64_t at = 1000;
  for (const TokenGap& gap : gaps) {
    EXPECT_EQ(gap.parts.total(), gap.gap);
    EXPECT_EQ(gap.at.count(), at += gap.gap.count());
  }
  EXPECT_EQ(gaps[0].parts[TimePart::network].count(), 50);
  EXPECT_EQ(gaps[1].parts[TimePart::network].count(), 34'000);
  EXPECT_EQ(gaps[1].parts[TimePart::host].count(), 950);
  EXPECT_EQ(gaps[2].gap.count(), 1000);
  EXPECT_EQ(gaps[2].parts[TimePart::network].count(), 1000);
  EXPECT_EQ(gaps[3].parts[TimePart::network].count(), 97'000);
  EXPECT_EQ(gaps[3].parts[TimePart::other_prefill].count(), gaps[3].parts.causes[0].micros.count());
  EXPECT_EQ(gaps[5].gap.count(), 0);
  const auto phases = phases_of(trace, base::Micros(999'999));
  base::Micros sum;
  for (const base::Micros phase : phases) sum += phase;
  EXPECT_EQ(sum, end_to_end(trace, base::Micros(999'999)));
  EXPECT_EQ(sum.count(), 399'200);
  EXPECT_EQ(phases[static_cast<size_t>(RequestPhase::prepare)].count(), 100);
  EXPECT_EQ(phases[static_cast<size_t>(RequestPhase::write)].count(), 37'100);
}

TEST(RequestTrace, WhatIsLeftOfALongOneStillSums) {
  RequestTrace trace = late_trace();
  trace.outputs.pop_front();
  trace.outputs_skipped = trace.tokens_skipped = 1;
  const auto gaps = gaps_of(trace);
  ASSERT_EQ(gaps.size(), 4u);  // how long the first one kept took is not known
  EXPECT_EQ(gaps[0].token, 2u);
  for (const TokenGap& gap : gaps) EXPECT_EQ(gap.parts.total(), gap.gap);
}

}  // namespace
}  // namespace takt::server
