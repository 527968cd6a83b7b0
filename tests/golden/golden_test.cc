// The real models against float32 reference outputs: how far the distribution is from the reference (KL), and whether the
// greedy choice is the same. The distance of another engine on the same files, 8-bit activations too, is the bar for the fast kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "golden/npz.h"
#include "support/test_model.h"

namespace takt::tests {
namespace {

constexpr double kReferenceKlMax = 1e-5;   // float32 activations, f16 KV cache
constexpr double kGreedyMarginRef = 0.05;  // nat; the float32 path agrees on every step with a larger margin
constexpr double kGreedyMarginFast = 0.5;  // nat; 8-bit activations overturn smaller margins now and then
constexpr int64_t kPrefillChunk = 512;
// nat. Measured: 0.22 at most over the texts and KV formats. (The aim is 0.1: the block of 32 that holds a first token's largest value is
// still coarse.)
constexpr double kFirstPositionBar = 0.25;

struct GoldenModel {
  const char* name;    // in the model cache
  const char* folder;  // of the golden data
  double prefill_bar;  // llama.cpp's mean KL on the same texts (nat)
  double decode_bar;
  double slack;  // few texts scatter more
  bool is_in_project;
  // Where another engine fails at position 0 (1.1 to 3.7 nat: activation blocks of 256 drown beside the few enormous values of a first
  // token), that position is held against a bar of its own, and not counted in the mean.
  double first_position_bar = 0;
  bool has_window = false;  // of attention: then the long text is what shows an error in it
};

// The whole sets come with the shared test data; three texts of the default model are in the project.
const GoldenModel kModels[] = {
    {"smollm2-135m", "smollm2-135m-q4_1", 0.00317, 0.00317, 1.25, true},
    {"smollm2-135m", "smollm2-135m-q4_1", 0.00226, 0.00229, 1.05, false},
    {"qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b-q4_k_m", 0.00080, 0.00087, 1.05, false},
    {"gemma3-270m", "gemma3-270m-q4_k_m", 0.00417, 0.00426, 1.05, false, 0, true},
    {"qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b-q4_k_m", 0.00178, 0.00186, 1.05, false, kFirstPositionBar},
};

struct Tally {
  double kl_sum = 0;
  int64_t positions = 0;
  double flipped_margin_max = 0;
  double first_kl_max = 0;  // of positions 0 that have a bar of their own
  void add(int64_t position, double kl, bool is_first_apart) {
    if (position == 0 && is_first_apart) {
      first_kl_max = std::max(first_kl_max, kl);
      return;
    }
    kl_sum += kl;
    ++positions;
  }
  void print(const std::string& what) const {
    std::printf("  %-40s mean KL %.3g over %lld positions, largest greedy margin overturned %.3f\n", what.c_str(),
                kl_sum / static_cast<double>(positions), static_cast<long long>(positions), flipped_margin_max);
    if (first_kl_max > 0) std::printf("  position 0: largest KL %.3g\n", first_kl_max);
  }
};

// KL(reference || model) in nat over the reference's 32 best ids and one bucket for all others.
double kl_divergence(const std::vector<double>& model, const int32_t* ids, const float* logprobs, float rest_logprob) {
  double kl = 0;
  std::vector<bool> is_top(model.size());
  for (int i = 0; i < 32; ++i) {
    is_top[static_cast<size_t>(ids[i])] = true;
    kl += std::exp(static_cast<double>(logprobs[i])) *
          (static_cast<double>(logprobs[i]) - model[static_cast<size_t>(ids[i])]);
  }
  double rest = 0;
  for (size_t i = 0; i < model.size(); ++i)
    if (!is_top[i]) rest += std::exp(model[i]);
  return kl + std::exp(static_cast<double>(rest_logprob)) * (static_cast<double>(rest_logprob) - std::log(rest));
}

// One text: its positions count for the KL; then the reference's greedy tokens are fed one after another.
void check_case(TestModel& model, const std::string& path, int64_t chunk, bool counts, bool is_first_apart,
                Tally& tally) {
  const auto arrays = read_npz(path);
  std::vector<contract::TokenId> tokens(arrays.at("ids").ints);
  const auto text_tokens = static_cast<int64_t>(tokens.size());
  const bool has_greedy = arrays.contains("greedy_top_ids");
  const int64_t steps = has_greedy ? arrays.at("greedy_top_ids").shape[0] : 0;
  for (int64_t step = 0; step + 1 < steps; ++step)
    tokens.push_back(arrays.at("greedy_top_ids").ints[static_cast<size_t>(step * 32)]);
  model.run(tokens, chunk, [&](int64_t position, std::span<const float> logits) {
    const auto row = static_cast<size_t>(position) * 32;
    if (position < text_tokens && counts) {
      const double kl =
          kl_divergence(log_softmax(logits), &arrays.at("top_ids").ints[row], &arrays.at("top_logprob").floats[row],
                        arrays.at("rest_logprob").floats[static_cast<size_t>(position)]);
      tally.add(position, kl, is_first_apart);
    }
    if (!has_greedy || position < text_tokens - 1) return;
    const auto step = static_cast<size_t>(position - (text_tokens - 1)) * 32;
    const auto best = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    const auto& reference = arrays.at("greedy_top_logprob").floats;
    if (best != arrays.at("greedy_top_ids").ints[step])
      tally.flipped_margin_max =
          std::max(tally.flipped_margin_max, static_cast<double>(reference[step] - reference[step + 1]));
  });
}

Tally check_model(const GoldenModel& golden, const std::string& folder, const std::string& kernel_set, int64_t chunk,
                  std::optional<base::KvFormats> kv = {}) {
  // The plain kernels take minutes for the long text (two thirds of all positions), which tells them nothing new unless there is a window.
  const bool is_long_left_out = kernel_set == "ref" && !golden.has_window;
  Tally tally;
  auto model = TestModel::load(cached_model(golden.name), kernel_set, 2, {}, kv);
  if (model == nullptr) return tally;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".npz") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    // In the whole set the chat text is outside the mean, as it is in the bar.
    const bool counts = golden.is_in_project || path.find("7-chat") == std::string::npos;
    if (is_long_left_out && path.find("6-long") != std::string::npos) continue;
    check_case(*model, path, chunk, counts, golden.first_position_bar > 0, tally);
  }
  tally.print(std::string(golden.name) + ", " + kernel_set + (chunk == 1 ? ", decode" : ", prefill") +
              (kv ? ", KV " + base::kv_formats_name(*kv) : ""));
  return tally;
}

class Golden : public testing::TestWithParam<GoldenModel> {
 protected:
  void SetUp() override {
    const GoldenModel& golden = GetParam();
    folder_ = golden.is_in_project ? std::string(TAKT_SOURCE_DIR) + "/tests/golden/data/" + golden.folder
                                   : shared_path(std::string("data/golden/") + golden.folder);
    if (folder_.empty()) GTEST_SKIP() << "needs ../shared (TAKT_SHARED)";
    if (cached_model(golden.name).empty())
      GTEST_SKIP() << "needs the model " << golden.name << " (./x model get " << golden.name << ")";
  }
  std::string folder_;
};

TEST_P(Golden, ReferenceKernelsProveTheGraph) {
  const Tally tally = check_model(GetParam(), folder_, "ref", kPrefillChunk);
  ASSERT_GT(tally.positions, 0);
  EXPECT_LT(tally.kl_sum / static_cast<double>(tally.positions), kReferenceKlMax);
  EXPECT_LE(tally.flipped_margin_max, kGreedyMarginRef);
}

TEST_P(Golden, DefaultKernelsInPrefillAndDecode) {
  const std::string set(kernels::select_kernel_set("")->name);
  for (int64_t chunk : {kPrefillChunk, int64_t{1}}) {
    const Tally tally = check_model(GetParam(), folder_, set, chunk);
    const double bar = (chunk == 1 ? GetParam().decode_bar : GetParam().prefill_bar) * GetParam().slack;
    ASSERT_GT(tally.positions, 0);
    std::printf("  bar: %.5f (another engine's distance on the same texts × %.2f)\n", bar, GetParam().slack);
    EXPECT_LE(tally.kl_sum / static_cast<double>(tally.positions), bar);
    EXPECT_LE(tally.flipped_margin_max, kGreedyMarginFast);
    if (GetParam().first_position_bar > 0) EXPECT_LT(tally.first_kl_max, GetParam().first_position_bar);
  }
}

// What a KV format adds to the distance from the reference, 8-bit activations included. The bars are those of the formats, 0.001 and 0.01
// nat, with half as much again for the few positions of the project's texts.
TEST_P(Golden, KvFormatsCostLittle) {
  const std::string set(kernels::select_kernel_set("")->name);
  const auto mean = [&](base::KvFormats kv) {
    const Tally tally = check_model(GetParam(), folder_, set, kPrefillChunk, kv);
    EXPECT_GT(tally.positions, 0);
    return tally.kl_sum / static_cast<double>(tally.positions);
  };
  using base::KvFormat;
  const double f16 = mean({KvFormat::f16, KvFormat::f16});
  EXPECT_LE(mean({KvFormat::q8_0, KvFormat::q8_0}), f16 + 0.0015);
  EXPECT_LE(mean({KvFormat::q8_0, KvFormat::q4}), f16 + 0.015);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::ValuesIn(kModels), [](const auto& param_info) {
  std::string name = param_info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name + (param_info.param.is_in_project ? "_project" : "_shared");
});

}  // namespace
}  // namespace takt::tests
