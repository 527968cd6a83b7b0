// Thousands of random runs of the scheduler in the simulated world, each from one seed: tiny page pools, long and short
// prompts, all classes, bursts, storms of cancels. TAKT_SEED=N runs that seed alone, TAKT_RUNS=N that many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "replay/watching_scheduler.h"
#include "scheduler/scheduler.h"
#include "worlds/recorder.h"
#include "worlds/replay.h"
#include "worlds/sim/random.h"
#include "worlds/sim/sim_world.h"

namespace takt::tests {
namespace {

using contract::FinishReason;

uint64_t number_from_environment(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A cost that has nothing to do with hardware: only its variety matters.
class RandomCost final : public cost::StepCost {
 public:
  RandomCost(int64_t step_us, int64_t token_us) : step_us_(step_us), token_us_(token_us) {}
  base::Micros predict(const contract::StepPlan& plan) const override {
    int64_t tokens = static_cast<int64_t>(plan.decode_rows.size());
    for (const contract::PrefillChunk& chunk : plan.prefill_chunks) tokens += chunk.end - chunk.begin;
    return base::Micros(step_us_ + token_us_ * tokens);
  }

 private:
  int64_t step_us_, token_us_;
};

contract::Capacity random_capacity(worlds::Random& random) {
  contract::Capacity capacity;
  capacity.page_tokens = random.one_in(2) ? 32 : random.between(1, 20);
  capacity.page_count = random.between(1, random.one_in(2) ? 8 : 80);
  capacity.context_tokens = random.between(2, 400);
  capacity.rows_max = random.between(1, 10);
  capacity.step_tokens_max = capacity.rows_max + random.between(0, random.one_in(2) ? 4 : 100);
  capacity.chunk_tokens_beside_decode = random.between(0, 1) * random.between(1, 60);
  capacity.waiting_requests_max = random.one_in(3) ? random.between(0, 5) : 500;
  capacity.waiting_tokens_max = base::Tokens(random.one_in(3) ? random.between(0, 500) : 1'000'000);
  capacity.has_prefix_cache = !random.one_in(4);
  return capacity;
}

std::vector<worlds::Arrival> random_arrivals(worlds::Random& random, const contract::Capacity& capacity) {
  const int64_t tokens = std::min<int64_t>(capacity.context_tokens, capacity.page_count * capacity.page_tokens);
  const bool is_pressed = random.one_in(3);  // short prompts, long answers, all at once: pages run out in the middle
  const uint32_t prompt_max = static_cast<uint32_t>(tokens) / (is_pressed ? 8 : random.between(1, 4)) + 1;
  const uint32_t output_max = random.between(1, is_pressed ? 200 : 20);
  uint32_t time_span = 1'000;  // from all at once to hardly ever two together
  for (uint32_t i = is_pressed ? 0 : random.below(7); i > 0; --i) time_span *= 8;
  const uint32_t cancel_one_in = random.one_in(4) ? 1 : random.between(2, 20);  // 1: a storm
  std::vector<worlds::Arrival> arrivals(random.between(1, 50));
  for (worlds::Arrival& arrival : arrivals) {
    arrival.at = base::Micros(random.below(time_span));
    arrival.prompt_tokens = random.between(1, prompt_max);
    arrival.output_tokens = random.between(1, output_max);
    arrival.output_tokens_max = random.one_in(8) ? 0 : random.between(1, output_max);
    arrival.service_class = static_cast<contract::ServiceClass>(random.below(3));
    if (random.one_in(cancel_one_in)) arrival.cancel_after = base::Micros(random.below(200'000));
  }
  return arrivals;
}

using Tokens = std::vector<contract::TokenId>;

Tokens random_ids(worlds::Random& random, size_t count) {
  Tokens ids(count);
  for (contract::TokenId& id : ids) id = static_cast<contract::TokenId>(random.below(1000));
  return ids;
}

// Gives most arrivals the beginning of an earlier one's prompt, of its prompt and answer (a next turn), or of some few
// common texts; the tokens behind it are few or many different ones.
void share_prefixes(worlds::Random& random, std::vector<worlds::Arrival>& arrivals) {
  std::vector<Tokens> texts;
  for (int i = 0; i < 3; ++i) texts.push_back(random_ids(random, random.between(1, 400)));
  const uint32_t alone_one_in = random.between(1, 6), tenants = random.one_in(3) ? 3 : 1;
  for (worlds::Arrival& arrival : arrivals) {
    arrival.tenant = random.below(tenants);
    Tokens prompt = texts[random.below(static_cast<uint32_t>(texts.size()))];
    const uint32_t kept = random.one_in(3) ? arrival.prompt_tokens : random.below(arrival.prompt_tokens + 1);
    prompt.resize(std::min<size_t>(prompt.size(), random.one_in(alone_one_in) ? 0 : kept));
    const Tokens rest = random_ids(random, arrival.prompt_tokens - prompt.size());
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const Tokens answer = random_ids(random, random.below(arrival.output_tokens + 1));
    Tokens turn = prompt;
    turn.insert(turn.end(), answer.begin(), answer.end());
    texts.push_back(std::move(turn));
    arrival.prompt = std::make_shared<const Tokens>(std::move(prompt));
    arrival.answer = std::make_shared<const Tokens>(answer);
  }
}

// The request ended once, with exactly the tokens it should have.
void check_record(const worlds::RequestRecord& record, const contract::Capacity& capacity) {
  ASSERT_TRUE(record.finished.has_value()) << "request " << record.id.value << " never ended";
  if (record.is_refused) return;
  const auto pool_tokens = static_cast<int64_t>(capacity.page_count) * capacity.page_tokens;
  const int64_t context_tokens = std::min<int64_t>(capacity.context_tokens, pool_tokens);
  const worlds::Arrival& arrival = record.arrival;
  const int64_t limit = std::min<int64_t>(arrival.output_tokens_max, context_tokens - arrival.prompt_tokens);
  const int64_t outputs = std::min<int64_t>(limit, arrival.output_tokens);
  if (record.finish == FinishReason::cancelled) {
    EXPECT_TRUE(arrival.cancel_after.has_value());
    EXPECT_LE(record.output_tokens, outputs);
    return;
  }
  EXPECT_EQ(record.output_tokens, outputs) << "request " << record.id.value;
  EXPECT_EQ(record.finish, outputs == arrival.output_tokens ? FinishReason::stop : FinishReason::length);
}

// Where the time of a request's tokens went sums to it, to the microsecond; so do the requests named as causes.
void check_parts(const worlds::RequestRecord& record, contract::TimeParts& seen) {
  ASSERT_EQ(record.parts.size(), record.output_tokens + size_t{1});
  base::Micros sum;
  for (size_t i = 0; i < record.parts.size(); ++i) {
    const contract::TimeParts& parts = record.parts[i];
    for (const base::Micros part : parts.micros) EXPECT_GE(part.count(), 0);
    if (i == 0 && record.first_token) {
      EXPECT_EQ(parts.total(), *record.first_token - record.arrival.at);
    }
    if (i > 0 && i < record.output_tokens) {
      EXPECT_EQ(parts.total(), record.token_gaps[i - 1]);
    }
    base::Micros caused;
    for (const auto& cause : parts.causes) {
      EXPECT_NE(cause.request, record.id);
      caused += cause.micros;
    }
    EXPECT_EQ(caused, parts[contract::TimePart::other_prefill]);
    sum += parts.total();
    seen.add(parts);
  }
  EXPECT_EQ(sum, *record.finished - record.arrival.at);
}

struct Totals {
  contract::TimeParts parts;
  uint64_t requests = 0, steps = 0, preemptions = 0, refused = 0, cancelled = 0;
  uint64_t tokens_hit = 0, pages_evicted = 0, cached_in_the_middle = 0;
};

void run_seed(uint64_t seed, Totals& totals) {
  worlds::Random random(seed);
  const contract::Capacity capacity = random_capacity(random);
  auto bare = scheduler::make_scheduler(capacity);
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  std::ostringstream recording;
  worlds::RecordingScheduler recorder(**bare, capacity, contract::ServicePolicy(), recording);
  WatchingScheduler watching(recorder, capacity);
  const RandomCost truth(random.between(1, 20'000), random.below(1'000));
  std::vector<worlds::Arrival> arrivals = random_arrivals(random, capacity);
  if (!random.one_in(4)) share_prefixes(random, arrivals);
  worlds::TraceTraffic traffic(std::move(arrivals));
  worlds::SimWorld world(watching, capacity, truth, traffic);

  world.account();
  const base::Status status = world.run();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(watching.faults(), "");
  EXPECT_EQ(watching.live_count(), 0u);
  EXPECT_EQ(world.engine().request_count(), 0u);
  EXPECT_EQ(world.engine().pages_owned(), 0u);
  const contract::Bounds bounds = watching.bounds();
  EXPECT_EQ(bounds.pages_used, 0u) << "pages leaked";
  EXPECT_EQ(bounds.waiting_tokens.count(), 0);
  EXPECT_EQ(bounds.preemptions, world.preemptions());
  for (const worlds::RequestRecord& record : world.records()) {
    check_record(record, capacity);
    if (!record.is_refused) check_parts(record, totals.parts);
    totals.refused += record.is_refused ? 1 : 0;
    totals.cancelled += record.finish == FinishReason::cancelled ? 1 : 0;
    totals.cached_in_the_middle += record.prompt_tokens_cached % capacity.page_tokens > 0 ? 1 : 0;
  }
  std::istringstream recorded(recording.str());
  const auto report = worlds::replay(recorded, scheduler::make_scheduler);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->is_identical());
  EXPECT_EQ(report->steps, world.steps());
  EXPECT_EQ(report->submits, world.records().size());
  totals.requests += world.records().size();
  totals.steps += world.steps();
  totals.preemptions += world.preemptions();
  totals.tokens_hit += bounds.prefix_tokens_hit;
  totals.pages_evicted += bounds.prefix_pages_evicted;
}

TEST(RandomRun, KeepsEveryInvariantAndReplays) {
  const uint64_t first = number_from_environment("TAKT_SEED", 1);
  const uint64_t runs = std::getenv("TAKT_SEED") ? 1 : number_from_environment("TAKT_RUNS", 4000);
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + runs - 1));
  std::fflush(stdout);
  Totals totals;
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("TAKT_SEED=" + std::to_string(seed));
    run_seed(seed, totals);
    if (HasFailure()) return;
  }
  std::printf("%llu requests (%llu refused, %llu hung up), %llu steps, %llu preemptions\n",
              static_cast<unsigned long long>(totals.requests), static_cast<unsigned long long>(totals.refused),
              static_cast<unsigned long long>(totals.cancelled), static_cast<unsigned long long>(totals.steps),
              static_cast<unsigned long long>(totals.preemptions));
  std::printf("%llu prompt tokens from the cache, %llu requests with part of a page, %llu pages given up\n",
              static_cast<unsigned long long>(totals.tokens_hit),
              static_cast<unsigned long long>(totals.cached_in_the_middle),
              static_cast<unsigned long long>(totals.pages_evicted));
  if (runs < 1000) return;
  // The runs must reach what they are there for.
  EXPECT_GT(totals.preemptions, runs / 2);
  EXPECT_GT(totals.cancelled, runs);
  EXPECT_GT(totals.refused, runs);
  EXPECT_GT(totals.tokens_hit, runs * 10);
  EXPECT_GT(totals.cached_in_the_middle, runs);
  EXPECT_GT(totals.pages_evicted, runs);
  for (size_t i = 0; i < contract::kTimePartCount; ++i) {
    const auto part = static_cast<contract::TimePart>(i);
    using enum contract::TimePart;
    if (part == load || part == sampling || part == host || part == network) continue;  // not in a simulated world
    EXPECT_GT(totals.parts[part].count(), 0) << contract::name(part);
  }
}

}  // namespace
}  // namespace takt::tests
