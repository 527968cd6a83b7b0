// The same bits whatever the schedule, over random ones, with all that a server does at once: prompts in chunks, beginnings taken from the
// prefix cache, pages taken away by somebody who ranks before, neighbours that are cancelled, in every KV format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/kv_format.h"
#include "support/live_session.h"
#include "support/tiny_model.h"

namespace takt::tests {
namespace {

using base::KvFormat;
using base::KvFormats;
using contract::ServiceClass;
using Tokens = std::vector<contract::TokenId>;
using Model = std::shared_ptr<const model::Model>;
using Sink = std::shared_ptr<CollectingSink>;

constexpr uint32_t kPage = 32;
constexpr int64_t kOutputs = 20;

uint32_t pages_of(size_t tokens) { return static_cast<uint32_t>((tokens + kPage - 1) / kPage); }

// Two requests whose bits are compared; they share two thirds of their prompts. Greedy, and sampled with a penalty: both depend on
// every bit of the logits.
struct Target {
  Tokens prompt;
  bool is_sampled;
  contract::GenerationSpec spec() const {
    contract::GenerationSpec spec;
    spec.sampling.temperature = is_sampled ? 0.9f : 0.0f;
    spec.sampling.seed = 42;
    if (is_sampled) spec.sampling.repeat_penalty = 1.1f;
    spec.top_logprobs = 5;
    return spec;
  }
};

std::vector<Target> make_targets(size_t prompt_tokens, uint32_t vocabulary) {
  std::vector<Target> targets(2);
  targets[0].prompt = random_tokens(7, prompt_tokens, vocabulary);
  targets[1].prompt = random_tokens(8, prompt_tokens * 2 / 3 + 13, vocabulary);
  std::copy_n(targets[0].prompt.begin(), prompt_tokens * 2 / 3, targets[1].prompt.begin());
  targets[0].is_sampled = false;
  targets[1].is_sampled = true;
  return targets;
}

struct Schedule {
  explicit Schedule(uint64_t seed, size_t prompt_tokens) : random(seed) {
    threads = 1 + pick(2);
    is_tight = seed % 2 == 0;
    capacity.context_tokens = 4096;
    const uint32_t chunks[] = {512, 64, 17, prompt_tokens < 200 ? 5u : 33u};  // small ones take long where prompts are
    capacity.step_tokens_max = chunks[pick(4)];
    capacity.rows_max = std::min(8u, capacity.step_tokens_max);
    const uint32_t beside[] = {0, 48, 7};
    capacity.chunk_tokens_beside_decode = std::min(beside[pick(3)], capacity.step_tokens_max);
    // Tight: the first target and a few pages, so that nearly everybody is in the way of somebody.
    capacity.page_count = is_tight ? pages_of(prompt_tokens + kOutputs) + 6 + pick(5) : 1024;
    capacity.has_prefix_cache = true;
  }
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random() % count); }

  std::mt19937_64 random;
  int threads;
  bool is_tight;
  contract::Capacity capacity;
};

struct Totals {
  uint64_t preemptions = 0, tokens_hit = 0, tokens_lost = 0;
  int cancelled = 0;
};

class Harness {
 public:
  Harness(Model model, size_t prompt_tokens)
      : model_(std::move(model)), targets_(make_targets(prompt_tokens, model_->spec.vocabulary_size)) {
    contract::Capacity capacity;
    capacity.page_count = 1024;
    capacity.context_tokens = 4096;
    LiveSession session(model_, 1, capacity);
    session.start();
    for (const Target& target : targets_) {
      const Sink sink = session.submit(target.prompt, kOutputs, target.spec());
      sink->wait();
      alone_.push_back(fingerprint(*sink));
    }
    EXPECT_NE(alone_[0], alone_[1]);
  }

  void expect_equal(uint64_t seed, Totals& totals) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, targets_[0].prompt.size());
    LiveSession session(model_, schedule.threads, schedule.capacity);
    struct Neighbour {
      Sink sink;
      contract::RequestId id;
      std::optional<size_t> cancelled_after;  // output tokens
    };
    std::vector<Neighbour> neighbours(2 + schedule.pick(3));
    for (Neighbour& neighbour : neighbours) {
      neighbour.sink =
          session.submit(neighbour_prompt(schedule), 3 + schedule.pick(40), {}, &neighbour.id, ServiceClass::batch);
      if (schedule.pick(2) == 0) neighbour.cancelled_after = schedule.pick(4);
    }
    std::vector<Sink> sinks;
    for (const Target& target : targets_)
      sinks.push_back(session.submit(target.prompt, kOutputs, target.spec(), nullptr, ServiceClass::batch));
    session.start();
    for (Neighbour& neighbour : neighbours) {
      if (!neighbour.cancelled_after) continue;
      neighbour.sink->wait_for_tokens(*neighbour.cancelled_after);
      session.world().cancel(neighbour.id);
      ++totals.cancelled;
    }
    sinks[0]->wait_for_tokens(3);
    // Ranks before all and wants more pages than there are beside the first target's.
    Sink intruder;
    if (schedule.is_tight)
      intruder =
          session.submit(random_tokens(seed + 1000, intruder_tokens(schedule), model_->spec.vocabulary_size), 2, {});
    for (const Sink& sink : sinks) sink->wait();
    const Sink again = session.submit(targets_[0].prompt, kOutputs, targets_[0].spec());
    again->wait();
    for (size_t i = 0; i < sinks.size(); ++i) EXPECT_EQ(alone_[i], fingerprint(*sinks[i])) << "target " << i;
    EXPECT_EQ(alone_[0], fingerprint(*again)) << "from the cache, answer and all";
    for (const Neighbour& neighbour : neighbours) neighbour.sink->wait();
    if (intruder) intruder->wait();
    const contract::Bounds bounds = session.world().bounds();
    EXPECT_EQ(bounds.pages_free, schedule.capacity.page_count);
    totals.preemptions += bounds.preemptions;
    totals.tokens_hit += bounds.prefix_tokens_hit;
    totals.tokens_lost += bounds.preempted_tokens_lost;
  }

 private:
  // Begins as the first target does, somewhere in a page it goes on otherwise.
  Tokens neighbour_prompt(Schedule& schedule) const {
    const Tokens& shared = targets_[0].prompt;
    Tokens prompt(shared.begin(), shared.begin() + schedule.pick(static_cast<uint32_t>(shared.size()) / 2));
    const Tokens own = random_tokens(schedule.random(), 3 + schedule.pick(40), model_->spec.vocabulary_size);
    prompt.insert(prompt.end(), own.begin(), own.end());
    return prompt;
  }
  size_t intruder_tokens(const Schedule& schedule) const {
    return (schedule.capacity.page_count - pages_of(targets_[0].prompt.size()) + 1) * kPage - 5;
  }

  Model model_;
  std::vector<Target> targets_;
  std::vector<std::string> alone_;
};

void expect_equal_over_seeds(const std::string& path, const KvFormats& kv, size_t prompt_tokens, int seeds) {
  auto loaded = TestModel::load(path, std::string(kernels::select_kernel_set("")->name), 2, {}, kv);
  ASSERT_NE(loaded, nullptr);
  Harness harness(loaded->shared_model(), prompt_tokens);
  std::printf("seeds 1 to %d\n", seeds);
  Totals totals;
  for (int seed = 1; seed <= seeds; ++seed) harness.expect_equal(static_cast<uint64_t>(seed), totals);
  std::printf("%llu preemptions (%llu tokens evaluated again), %llu tokens from the cache, %d cancelled\n",
              static_cast<unsigned long long>(totals.preemptions), static_cast<unsigned long long>(totals.tokens_lost),
              static_cast<unsigned long long>(totals.tokens_hit), totals.cancelled);
  EXPECT_GT(totals.preemptions, 0u);
  EXPECT_GT(totals.tokens_lost, 0u);
  EXPECT_GT(totals.tokens_hit, 0u);
  EXPECT_GT(totals.cancelled, 0);
}

const KvFormats kFormats[] = {
    {KvFormat::f16, KvFormat::f16}, {KvFormat::q8_0, KvFormat::q8_0}, {KvFormat::q8_0, KvFormat::q4}};

using Case = std::tuple<const char*, KvFormats>;

std::string case_name(const testing::TestParamInfo<Case>& param_info) {
  std::string name =
      std::string(std::get<0>(param_info.param)) + "_" + base::kv_formats_name(std::get<1>(param_info.param));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.' || c == '/'; }, '_');
  return name;
}

class RandomSchedulesTiny : public testing::TestWithParam<Case> {};

TEST_P(RandomSchedulesTiny, SameBits) {
  const TinyModelFile file(std::get<0>(GetParam()), "Q4_K_M");
  expect_equal_over_seeds(file.path(), std::get<1>(GetParam()), 150, 12);
}

INSTANTIATE_TEST_SUITE_P(Architectures, RandomSchedulesTiny,
                         testing::Combine(testing::Values("smollm2-135m", "qwen2.5-0.5b", "gemma3-270m"),
                                          testing::ValuesIn(kFormats)),
                         case_name);

// 530 tokens reach beyond gemma3's window and the first span of attention.
class RandomSchedulesReal : public testing::TestWithParam<Case> {};

TEST_P(RandomSchedulesReal, SameBits) {
  const std::string name = std::get<0>(GetParam()), path = cached_model(name);
  if (path.empty()) GTEST_SKIP() << "needs the model " << name << " (./x model get " << name << ")";
  const bool is_whole = std::getenv("TAKT_TEST_ALL") != nullptr;
  if (name != "smollm2-135m" && !is_whole) GTEST_SKIP() << "needs ./x test --all (the larger models)";
  expect_equal_over_seeds(path, std::get<1>(GetParam()), is_whole ? 530 : 150, 2);
}

INSTANTIATE_TEST_SUITE_P(Cached, RandomSchedulesReal,
                         testing::Combine(testing::Values("smollm2-135m", "qwen2.5-coder-0.5b", "gemma3-270m"),
                                          testing::ValuesIn(kFormats)),
                         case_name);

}  // namespace
}  // namespace takt::tests
