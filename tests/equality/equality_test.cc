// Idea 2 of the design: the same request gives the same bits whatever the schedule. Every architecture and format as a tiny
// synthetic model, and the real models that are in the cache, run alone, with neighbours, in different prompt chunks, with different
// thread counts, a second time, and through preemption; every log-probability is compared bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "support/live_session.h"
#include "support/tiny_model.h"

namespace takt::tests {
namespace {

using Tokens = std::vector<contract::TokenId>;

struct Schedule {
  int threads = 1;
  uint32_t chunk_tokens = 512;
  int neighbours = 0;
  int repeats = 1;             // the last one is compared
  uint32_t page_count = 4096;  // few: preemption
  int64_t neighbour_output_tokens = 20;
};

struct Job {
  size_t prompt_tokens;
  int64_t output_tokens;
};

// Greedy, and sampled with penalties: both depend on every bit of the logits.
contract::GenerationSpec target_spec(bool is_sampled) {
  contract::GenerationSpec spec;
  spec.sampling.temperature = is_sampled ? 0.9f : 0.0f;
  spec.sampling.seed = 42;
  if (is_sampled) spec.sampling.repeat_penalty = 1.1f;
  spec.top_logprobs = 5;
  spec.prompt_top_logprobs = 2;
  return spec;
}

// The target's fingerprint (greedy then sampled request) under one schedule.
std::string run_schedule(const std::shared_ptr<const model::Model>& model, const Schedule& schedule, const Job& job,
                         uint64_t* preemptions = nullptr) {
  contract::Capacity capacity;
  capacity.page_count = schedule.page_count;
  capacity.context_tokens = static_cast<uint32_t>(job.prompt_tokens) + 256;
  capacity.step_tokens_max = schedule.chunk_tokens;
  capacity.rows_max = std::min(16u, schedule.chunk_tokens);
  capacity.chunk_tokens_beside_decode = std::min(schedule.chunk_tokens, 48u);
  LiveSession session(model, schedule.threads, capacity);
  const uint32_t vocabulary = model->spec.vocabulary_size;
  std::string bits;
  for (int repeat = 0; repeat < schedule.repeats; ++repeat) {
    std::vector<std::shared_ptr<CollectingSink>> neighbours;
    for (int i = 0; i < schedule.neighbours; ++i)
      neighbours.push_back(
          session.submit(random_tokens(100 + static_cast<uint64_t>(i), 5 + static_cast<size_t>(i) * 11, vocabulary),
                         schedule.neighbour_output_tokens, target_spec(i % 2 == 0)));
    std::vector<std::shared_ptr<CollectingSink>> targets;
    for (bool is_sampled : {false, true})
      targets.push_back(
          session.submit(random_tokens(7, job.prompt_tokens, vocabulary), job.output_tokens, target_spec(is_sampled)));
    if (repeat == 0) session.start();
    bits.clear();
    for (auto& target : targets) {
      target->wait();
      EXPECT_EQ(target->finish, contract::FinishReason::length);
      EXPECT_EQ(target->prompt_positions.size(), job.prompt_tokens);
      EXPECT_EQ(target->tokens.size(), static_cast<size_t>(job.output_tokens));
      bits += fingerprint(*target);
    }
    for (auto& neighbour : neighbours) neighbour->wait();
  }
  if (preemptions != nullptr) *preemptions = session.world().bounds().preemptions;
  return bits;
}

void expect_equal_over_schedules(const std::string& path, const std::string& kernel_set, const Job& job,
                                 std::optional<base::KvFormats> kv = {}) {
  auto loaded = TestModel::load(path, kernel_set, 2, {}, kv);
  ASSERT_NE(loaded, nullptr);
  const auto model = loaded->shared_model();
  const std::string alone = run_schedule(model, {1, 512, 0, 1}, job);
  ASSERT_FALSE(alone.empty());
  EXPECT_EQ(alone, run_schedule(model, {2, 512, 0, 2}, job)) << "two threads, second try";
  EXPECT_EQ(alone, run_schedule(model, {2, 16, 7, 1}, job)) << "chunks of 16, seven neighbours";
  EXPECT_EQ(alone, run_schedule(model, {1, 64, 7, 1}, job)) << "chunks of 64, seven neighbours";
  EXPECT_EQ(alone, run_schedule(model, {2, 4, 2, 1}, job)) << "chunks of 4, two neighbours";
  uint64_t preemptions = 0;
  // Room for the neighbours' prompts (12 pages), for one target's, and a page for each to grow into, as admission asks; not for the 14
  // pages that the neighbours grow by while the target decodes: it came last, so it has to give its pages up.
  const auto pages = static_cast<uint32_t>((job.prompt_tokens + 31) / 32 + 12 + 8);
  EXPECT_EQ(alone, run_schedule(model, {2, 64, 7, 1, pages, 120}, job, &preemptions)) << "preemption";
  EXPECT_GT(preemptions, 0u) << "the small page pool was meant to force one";
}

class TinyModels : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(TinyModels, SameBitsWhateverTheSchedule) {
  const auto& [like, quant] = GetParam();
  const TinyModelFile file(like, quant);
  for (const kernels::KernelSet* set : kernels::kernel_sets()) {
    // "ref" serves proofs, not service; the slow portable set runs one architecture, with and without minimums.
    const bool is_portable_case =
        std::string(like) == "smollm2-135m" && (std::string(quant) == "Q4_1" || std::string(quant) == "Q6_K");
    if (!set->is_supported() || set->name == "ref" || (set->name == "portable" && !is_portable_case)) continue;
    SCOPED_TRACE(std::string(set->name));
    expect_equal_over_schedules(file.path(), std::string(set->name), {75, 64});
  }
}

INSTANTIATE_TEST_SUITE_P(ArchitecturesAndFormats, TinyModels,
                         testing::Combine(testing::Values("smollm2-135m", "qwen2.5-0.5b", "gemma3-270m"),
                                          testing::Values("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
                                                          "Q4_K", "Q5_K", "Q6_K", "Q4_K_M")),
                         [](const auto& param_info) {
                           std::string name =
                               std::string(std::get<0>(param_info.param)) + "_" + std::get<1>(param_info.param);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

// KV formats: windows, norms and grouped heads, in the fastest set and the portable one.
class KvFormats : public testing::TestWithParam<std::tuple<const char*, base::KvFormats>> {};

TEST_P(KvFormats, SameBitsWhateverTheSchedule) {
  const auto& [like, kv] = GetParam();
  const TinyModelFile file(like, "Q8_0");
  for (const kernels::KernelSet* set : kernels::kernel_sets()) {
    if (!set->is_supported() || set->name == "ref") continue;
    if (set->name == "portable" && std::string(like) != "smollm2-135m") continue;
    SCOPED_TRACE(std::string(set->name));
    expect_equal_over_schedules(file.path(), std::string(set->name), {75, 64}, kv);
  }
}

INSTANTIATE_TEST_SUITE_P(ArchitecturesAndFormats, KvFormats,
                         testing::Combine(testing::Values("smollm2-135m", "qwen2.5-0.5b", "gemma3-270m"),
                                          testing::Values(base::KvFormats{base::KvFormat::bf16, base::KvFormat::bf16},
                                                          base::KvFormats{base::KvFormat::q8_0, base::KvFormat::q8_0},
                                                          base::KvFormats{base::KvFormat::q8_0, base::KvFormat::q4})),
                         [](const auto& param_info) {
                           std::string name = std::string(std::get<0>(param_info.param)) + "_" +
                                              base::kv_formats_name(std::get<1>(param_info.param));
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

// As the commands load a model: every format that the set can keep, smaller with fewer bits, part of the numerics version.
TEST(KvFormatsOfAModel, AreLoadedOrRefused) {
  using base::KvFormat;
  const TinyModelFile file("qwen2.5-0.5b", "Q8_0");
  base::ThreadPool pool(1);
  int64_t bytes = INT64_MAX;
  for (base::KvFormats kv : {base::KvFormats{}, base::KvFormats{KvFormat::q8_0, KvFormat::q8_0},
                             base::KvFormats{KvFormat::q8_0, KvFormat::q4}}) {
    auto opened = gguf::File::open(file.path());
    ASSERT_TRUE(opened.ok());
    auto model = model::load_model(std::move(opened).value(), *kernels::select_kernel_set(""), pool, {}, kv);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ((*model)->layer_kv.size(), (*model)->spec.layer_count);
    EXPECT_LT((*model)->shape.kv_bytes_per_token.count(), bytes);
    bytes = (*model)->shape.kv_bytes_per_token.count();
    EXPECT_NE((*model)->shape.numerics_version.find("kv-" + base::kv_formats_name(kv)), std::string::npos);
  }
  auto opened = gguf::File::open(file.path());
  ASSERT_TRUE(opened.ok());
  auto refused = model::load_model(std::move(opened).value(), *kernels::select_kernel_set("portable"), pool, {},
                                   base::KvFormats{KvFormat::q4, KvFormat::q4});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::invalid_argument);
}

// The larger models: random_schedule_test.cc, where each schedule has all of these conditions at once.
TEST(RealModels, SameBitsWhateverTheSchedule) {
  const std::string path = cached_model("smollm2-135m");
  if (path.empty()) GTEST_SKIP() << "needs the model smollm2-135m (./x model get smollm2-135m)";
  expect_equal_over_schedules(path, std::string(kernels::select_kernel_set("")->name), {600, 64});
}

// The synthetic models are worth testing on only if nothing in them is idle: each feature, switched off, must move the output.
double mean_kl(TestModel& reference, TestModel& changed, const Tokens& tokens) {
  std::vector<std::vector<double>> expected;
  reference.run(tokens, 64, [&](int64_t, std::span<const float> logits) { expected.push_back(log_softmax(logits)); });
  double kl = 0;
  changed.run(tokens, 64, [&](int64_t position, std::span<const float> logits) {
    const std::vector<double> actual = log_softmax(logits);
    const std::vector<double>& row = expected[static_cast<size_t>(position)];
    for (size_t i = 0; i < row.size(); ++i) kl += std::exp(row[i]) * (row[i] - actual[i]);
  });
  return kl / static_cast<double>(tokens.size());
}

void expect_features_matter(
    const char* like, const std::vector<std::pair<std::string, std::function<void(model::NetworkSpec&)>>>& changes) {
  const TinyModelFile file(like, "F32");
  auto reference = TestModel::load(file.path(), "ref", 2);
  ASSERT_NE(reference, nullptr);
  const Tokens tokens = random_tokens(3, 96, reference->model().spec.vocabulary_size);
  for (const auto& [name, change] : changes) {
    auto changed = TestModel::load(file.path(), "ref", 2, change);
    ASSERT_NE(changed, nullptr);
    EXPECT_GT(mean_kl(*reference, *changed, tokens), 0.01) << like << " without " << name;
  }
}

TEST(SyntheticModels, EveryFeatureMatters) {
  const auto rope = [](model::NetworkSpec& spec) { spec.rope.base *= 100; };
  const auto pairs = [](model::NetworkSpec& spec) {
    spec.rope_pairs =
        spec.rope_pairs == kernels::RopePairs::halves ? kernels::RopePairs::adjacent : kernels::RopePairs::halves;
  };
  expect_features_matter("smollm2-135m", {{"its rope base", rope}, {"its rope pairs", pairs}});
  expect_features_matter("qwen2.5-0.5b", {{"its rope base", rope}, {"its rope pairs", pairs}});
  expect_features_matter(
      "gemma3-270m",
      {{"its rope base", rope},
       {"the window's rope base", [](model::NetworkSpec& spec) { spec.rope_window.base *= 100; }},
       {"its window", [](model::NetworkSpec& spec) { spec.window = 1 << 20; }},
       {"its q and k norms", [](model::NetworkSpec& spec) { spec.has_qk_norm = false; }},
       {"its post norms", [](model::NetworkSpec& spec) { spec.has_post_norms = false; }},
       {"its embedding scale", [](model::NetworkSpec& spec) { spec.embedding_scale = 1; }},
       {"GELU", [](model::NetworkSpec& spec) { spec.activation = model::FeedForwardActivation::silu; }}});
}

}  // namespace
}  // namespace takt::tests
