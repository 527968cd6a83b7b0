// A warm prefix cache gives the same bits as a cold one: whole pages shared, pages copied in the middle, next turns, neighbours in
// flight that share a beginning and are cancelled, and preemptions that come back through the cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "support/live_session.h"
#include "support/tiny_model.h"

namespace takt::tests {
namespace {

using Tokens = std::vector<contract::TokenId>;
using Model = std::shared_ptr<const model::Model>;
using Sink = std::shared_ptr<CollectingSink>;

contract::GenerationSpec spec_of(bool is_sampled) {
  contract::GenerationSpec spec;
  spec.sampling.temperature = is_sampled ? 0.9f : 0.0f;
  spec.sampling.seed = 42;
  spec.top_logprobs = 5;
  return spec;
}

contract::Capacity capacity_of(bool has_prefix_cache, uint32_t chunk_tokens, uint32_t page_count = 1024) {
  contract::Capacity capacity;
  capacity.page_count = page_count;
  capacity.context_tokens = 4096;
  capacity.step_tokens_max = chunk_tokens;
  capacity.rows_max = 16;
  capacity.chunk_tokens_beside_decode = std::min(chunk_tokens, 48u);
  capacity.has_prefix_cache = has_prefix_cache;
  return capacity;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tokens first_of(const Tokens& tokens, size_t count) {
  return {tokens.begin(), tokens.begin() + static_cast<long>(count)};
}

Tokens ids_of(const CollectingSink& sink) {
  Tokens ids;
  for (const contract::TokenOutput& token : sink.tokens) ids.push_back(token.id);
  return ids;
}

constexpr int64_t kOutputs = 36;  // more than a page holds

// What a prompt's greedy and its sampled answer are to the bit, evaluated from the first token to the last.
std::string cold_bits(const Model& model, const Tokens& prompt) {
  LiveSession session(model, 1, capacity_of(false, 512));
  session.start();
  std::string bits;
  for (bool is_sampled : {false, true}) {
    const Sink sink = session.submit(prompt, kOutputs, spec_of(is_sampled));
    sink->wait();
    EXPECT_EQ(sink->times.prompt_tokens_cached.count(), 0);
    bits += fingerprint(*sink);
  }
  return bits;
}

// The same in a running session, after whatever was there before; both at once. Expects `cached` tokens of the prompt to be taken
// from the cache (the second one may find more: what the first has evaluated by then).
std::string warm_bits(LiveSession& session, const Tokens& prompt, int64_t cached) {
  std::vector<Sink> sinks;
  for (bool is_sampled : {false, true}) sinks.push_back(session.submit(prompt, kOutputs, spec_of(is_sampled)));
  std::string bits;
  for (const Sink& sink : sinks) {
    sink->wait();
    const int64_t found = sink->times.prompt_tokens_cached.count();
    EXPECT_TRUE(sink == sinks[0] ? found == cached : found >= cached) << found << " tokens, not " << cached;
    bits += fingerprint(*sink);
  }
  return bits;
}

void let_run(LiveSession& session, const Tokens& prompt, int64_t outputs) {
  session.submit(prompt, outputs, spec_of(false))->wait();
}

void expect_same_after_hits(const Model& model, const Tokens& prompt, bool is_quick) {
  const auto tokens = static_cast<int64_t>(prompt.size());
  const uint32_t vocabulary = model->spec.vocabulary_size;
  const std::string cold = cold_bits(model, prompt);
  const size_t half = prompt.size() / 2;
  const std::vector<size_t> commons =
      is_quick ? std::vector<size_t>{half} : std::vector<size_t>{1, 31, 32, 33, half, prompt.size() - 1};
  for (const uint32_t chunk_tokens : is_quick ? std::vector<uint32_t>{64} : std::vector<uint32_t>{512, 16}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk_tokens));
    {
      LiveSession session(model, 2, capacity_of(true, chunk_tokens));
      session.start();
      let_run(session, prompt, 0);
      EXPECT_EQ(cold, warm_bits(session, prompt, tokens - 1)) << "the whole prompt is cached";
      EXPECT_EQ(cold, warm_bits(session, prompt, tokens - 1)) << "and again, with answers behind it";
    }
    for (const size_t common : commons) {
      LiveSession session(model, 2, capacity_of(true, chunk_tokens));
      session.start();
      Tokens other = joined(first_of(prompt, common), random_tokens(5, 50, vocabulary));
      other[common] = (prompt[common] + 1) % static_cast<contract::TokenId>(vocabulary);
      let_run(session, other, 3);
      EXPECT_EQ(cold, warm_bits(session, prompt, static_cast<int64_t>(common))) << common << " tokens in common";
    }
  }
}

// The second turn repeats the first one's prompt and answer, whose keys and values were written by decode rows.
void expect_same_next_turn(const Model& model, const Tokens& prompt) {
  LiveSession session(model, 2, capacity_of(true, 64));
  session.start();
  const Sink first = session.submit(prompt, kOutputs, spec_of(false));
  first->wait();
  const Tokens so_far = joined(prompt, ids_of(*first));
  const Tokens turn = joined(so_far, random_tokens(9, 30, model->spec.vocabulary_size));
  // The answer's last token was never evaluated.
  EXPECT_EQ(cold_bits(model, turn), warm_bits(session, turn, static_cast<int64_t>(so_far.size()) - 1));
}

// Neighbours share the target's beginning while they decode; some are cancelled; with few pages all of them preempt.
void expect_same_among_sharing_neighbours(const Model& model, const Tokens& prompt) {
  const std::string cold = cold_bits(model, prompt);
  const auto pages = static_cast<uint32_t>(prompt.size() / 32 + 1);
  bool has_preempted = false;
  for (const uint32_t page_count : {1024u, pages + 12}) {
    LiveSession session(model, 2, capacity_of(true, 64, page_count));
    std::vector<Sink> neighbours;
    std::vector<contract::RequestId> ids(6);
    for (size_t i = 0; i < ids.size(); ++i) {
      const Tokens own = random_tokens(20 + i, 10 + 7 * i, model->spec.vocabulary_size);
      neighbours.push_back(session.submit(joined(first_of(prompt, prompt.size() * (i + 1) / 8), own), 120,
                                          spec_of(i % 2 == 1), &ids[i]));
    }
    session.start();
    neighbours[0]->wait_for_tokens(3);
    std::vector<Sink> targets;
    for (bool is_sampled : {false, true}) targets.push_back(session.submit(prompt, kOutputs, spec_of(is_sampled)));
    session.world().cancel(ids[1]);
    targets[0]->wait_for_tokens(5);
    session.world().cancel(ids[0]);
    session.world().cancel(ids[4]);
    std::string bits;
    for (const Sink& target : targets) {
      target->wait();
      bits += fingerprint(*target);
    }
    EXPECT_EQ(cold, bits) << page_count << " pages";
    for (const Sink& neighbour : neighbours) neighbour->wait();
    const contract::Bounds bounds = session.world().bounds();
    EXPECT_GT(bounds.prefix_tokens_hit, 0u);
    EXPECT_EQ(bounds.pages_free, page_count);
    has_preempted |= bounds.preemptions > 0;
  }
  EXPECT_TRUE(has_preempted) << "the few pages were meant to force it";
}

// Prompt log-probabilities need every position; what they report is the same with a full cache.
void expect_same_prompt_logprobs(const Model& model, const Tokens& prompt) {
  std::string bits[2];
  for (const bool is_warm : {false, true}) {
    LiveSession session(model, 1, capacity_of(true, 64));
    session.start();
    if (is_warm) let_run(session, prompt, 3);
    contract::GenerationSpec spec = spec_of(false);
    spec.prompt_top_logprobs = 2;
    const Sink sink = session.submit(prompt, 5, std::move(spec));
    sink->wait();
    EXPECT_EQ(sink->times.prompt_tokens_cached.count(), 0);
    EXPECT_EQ(sink->prompt_positions.size(), prompt.size());
    bits[is_warm ? 1 : 0] = fingerprint(*sink);
  }
  EXPECT_EQ(bits[0], bits[1]);
}

void expect_same_bits(const std::string& path, size_t prompt_tokens, bool is_quick) {
  auto loaded = TestModel::load(path, std::string(kernels::select_kernel_set("")->name), 2);
  ASSERT_NE(loaded, nullptr);
  const Model model = loaded->shared_model();
  const Tokens prompt = random_tokens(7, prompt_tokens, model->spec.vocabulary_size);
  expect_same_after_hits(model, prompt, is_quick);
  expect_same_next_turn(model, prompt);
  if (is_quick) return;
  expect_same_among_sharing_neighbours(model, prompt);
  expect_same_prompt_logprobs(model, prompt);
}

class PrefixCacheTiny : public testing::TestWithParam<const char*> {};

TEST_P(PrefixCacheTiny, WarmIsCold) {
  const TinyModelFile file(GetParam(), "Q4_K_M");
  expect_same_bits(file.path(), 150, false);
}

INSTANTIATE_TEST_SUITE_P(Architectures, PrefixCacheTiny, testing::Values("smollm2-135m", "qwen2.5-0.5b", "gemma3-270m"),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

// The larger models, and gemma3 beyond its window: random_schedule_test.cc.
TEST(PrefixCacheReal, WarmIsCold) {
  const std::string path = cached_model("smollm2-135m");
  if (path.empty()) GTEST_SKIP() << "needs the model smollm2-135m (./x model get smollm2-135m)";
  expect_same_bits(path, 150, std::getenv("TAKT_TEST_ALL") == nullptr);
}

}  // namespace
}  // namespace takt::tests
