#include "gguf/synth.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "gguf/file.h"

namespace takt::gguf {
namespace {

class SynthTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "takt-synth-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(SynthSpec spec, const std::string& name = "model.gguf") {
    spec.is_tiny = true;
    const std::string path = folder_ + "/" + name;
    const auto status = write_synthetic(spec, path);
    EXPECT_TRUE(status) << status.error().message;
    return path;
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
};

TEST_F(SynthTest, EveryModelInEveryFormatIsAValidFile) {
  for (const std::string_view model : synth_model_names())
    for (const std::string_view quant : synth_quant_names()) {
      SCOPED_TRACE(std::string(model) + " " + std::string(quant));
      const auto file = File::open(write({.like = std::string(model), .quant = std::string(quant)}));
      ASSERT_TRUE(file) << file.error().message;
      const std::string architecture((*file)->string("general.architecture").value());
      EXPECT_TRUE((*file)->u32(architecture + ".block_count"));
      const Tensor* query = (*file)->find_tensor("blk.0.attn_q.weight");
      ASSERT_TRUE(query);
      const std::string expected(quant == "Q4_K_M" ? "Q4_K" : quant);
      EXPECT_EQ(tensor_type_name(query->type), expected);
      const auto tokens = (*file)->strings("tokenizer.ggml.tokens");
      ASSERT_TRUE(tokens);
      EXPECT_EQ(tokens->size(), (*file)->find_tensor("token_embd.weight")->dims[1]);
      EXPECT_EQ((*file)->integers("tokenizer.ggml.token_type")->size(), tokens->size());
      EXPECT_EQ(std::set(tokens->begin(), tokens->end()).size(), tokens->size()) << "tokens are distinct";
    }
}

TEST_F(SynthTest, SeedDecidesAndThreadsDoNot) {
  const std::string once = content(write({.like = "qwen2.5-0.5b", .quant = "Q5_K", .seed = 5, .thread_count = 1}));
  EXPECT_EQ(once, content(write({.like = "qwen2.5-0.5b", .quant = "Q5_K", .seed = 5, .thread_count = 3})));
  EXPECT_NE(once, content(write({.like = "qwen2.5-0.5b", .quant = "Q5_K", .seed = 6})));
}

TEST_F(SynthTest, MatricesHaveTheGainThatWasPlanned) {
  const auto file = File::open(write({.like = "smollm2-135m", .quant = "F32"}));
  ASSERT_TRUE(file);
  const Tensor* tensor = (*file)->find_tensor("blk.1.attn_q.weight");
  ASSERT_TRUE(tensor);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < tensor->weight_count; ++i) {
    float weight;
    std::memcpy(&weight, tensor->bytes.data() + i * 4, sizeof weight);
    sum += weight;
    squares += static_cast<double>(weight) * weight;
  }
  const double count = static_cast<double>(tensor->weight_count), deviation = 1.6 / 16;  // gain / √256
  EXPECT_NEAR(sum / count, 0.0, 5 * deviation / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), deviation, deviation * 0.01);
}

TEST_F(SynthTest, GemmaHasWindowsBesidesGlobalLayersAndNorms) {
  const auto file = File::open(write({.like = "gemma3-270m", .quant = "Q8_0"}));
  ASSERT_TRUE(file);
  EXPECT_EQ(*(*file)->u32("gemma3.attention.sliding_window"), 16u);
  EXPECT_EQ(*(*file)->u32("gemma3.attention.sliding_window_pattern"), 2u);
  for (const char* name : {"attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm"})
    EXPECT_TRUE((*file)->find_tensor("blk.3." + std::string(name) + ".weight")) << name;
  EXPECT_EQ((*file)->find_tensor("output.weight"), nullptr) << "tied";
}

TEST_F(SynthTest, MixtureHasSixBitTensors) {
  const auto file = File::open(write({.like = "llama-3.1-8b", .quant = "q4_k_m"}));
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->find_tensor("output.weight")->format(), base::WeightFormat::q6_k);
  EXPECT_EQ((*file)->find_tensor("blk.1.ffn_down.weight")->format(), base::WeightFormat::q6_k);
  EXPECT_EQ((*file)->find_tensor("blk.0.ffn_down.weight")->format(), base::WeightFormat::q4_k);
}

TEST_F(SynthTest, UnknownNamesAreErrorsThatListTheKnownOnes) {
  const auto model = write_synthetic({.like = "gpt-5"}, folder_ + "/x.gguf");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("smollm2-135m"), std::string::npos);
  const auto quant = write_synthetic({.quant = "Q3_X"}, folder_ + "/x.gguf");
  ASSERT_FALSE(quant);
  EXPECT_NE(quant.error().message.find("Q4_K_M"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace takt::gguf
