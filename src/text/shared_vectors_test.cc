// Known answers for real vocabularies: the vectors of ../shared/data/vocab and the prompts of ../shared/data/golden.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "text/detokenizer.h"
#include "text/testing/test_files.h"

namespace takt::text {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_inputs(const std::string& all) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> inputs;
  for (size_t at = 0;;) {
    const size_t end = all.find(kSeparator, at);
    if (end == std::string::npos) return inputs;  // the file ends with a separator
    inputs.push_back(all.substr(at, end - at));
    at = end + kSeparator.size();
  }
}

std::vector<std::vector<TokenId>> read_outputs(const fs::path& path) {
  std::vector<std::vector<TokenId>> outputs;
  std::istringstream lines(read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    outputs.emplace_back(std::istream_iterator<TokenId>(numbers), std::istream_iterator<TokenId>());
  }
  return outputs;
}

class VocabularyVectors : public testing::TestWithParam<const char*> {};

TEST_P(VocabularyVectors, AreExact) {
  const fs::path path = shared_folder() / "data" / "vocab" / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  if (!fs::exists(path)) GTEST_SKIP() << "needs ../shared (TAKT_SHARED)";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto inputs = split_inputs(read_bytes(path.string() + ".inp"));
  const auto outputs = read_outputs(path.string() + ".out");
  ASSERT_GE(inputs.size(), 40u);
  ASSERT_EQ(inputs.size(), outputs.size());
  const auto& vocabulary = (*tokenizer)->vocabulary();
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int pass = 0; pass < 2; ++pass) {  // the second pass goes through the memory of whole words
      const auto ids = (*tokenizer)->encode(inputs[i], false, false);
      EXPECT_EQ(ids, outputs[i]) << "input " << i << ": " << inputs[i];
      EXPECT_EQ(decode(vocabulary, ids, {.strip_space_prefix = true}), inputs[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, VocabularyVectors,
                         testing::Values("deepseek-coder", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2",
                                         "starcoder"));

struct GoldenModel {
  const char* folder;
  const char* file;
};

class GoldenPrompts : public testing::TestWithParam<GoldenModel> {};

TEST_P(GoldenPrompts, HaveTheRecordedIds) {
  const fs::path folder = shared_folder() / "data" / "golden" / GetParam().folder;
  if (!fs::exists(folder)) GTEST_SKIP() << "needs ../shared (TAKT_SHARED)";
  if (!fs::exists(model_file(GetParam().file))) GTEST_SKIP() << "needs the model " << GetParam().file;
  const auto tokenizer = load_tokenizer(model_file(GetParam().file));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  int case_count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json" || entry.path().filename() == "llamacpp.json") continue;
    const auto json = boost::json::parse(read_bytes(entry.path()));
    const auto text = boost::json::value_to<std::string>(json.at("text"));
    const auto expected = boost::json::value_to<std::vector<TokenId>>(json.at("ids"));
    EXPECT_EQ((*tokenizer)->encode(text, json.at("parse_special").as_bool(), true), expected) << entry.path();
    if (const auto* greedy = json.as_object().if_contains("greedy")) {
      const auto ids = boost::json::value_to<std::vector<TokenId>>(greedy->at("ids"));
      size_t end = 0;
      while (end < ids.size() && !(*tokenizer)->vocabulary()->is_eog(ids[end])) ++end;
      const auto& first_end = greedy->at("first_eog_step");
      EXPECT_EQ(end, first_end.is_null() ? ids.size() : first_end.to_number<size_t>()) << entry.path();
    }
    ++case_count;
  }
  EXPECT_GE(case_count, 6);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPrompts,
                         testing::Values(GoldenModel{"smollm2-135m-q4_1", "smollm2-135m"},
                                         GoldenModel{"qwen2.5-coder-0.5b-q4_k_m", "qwen2.5-coder-0.5b"},
                                         GoldenModel{"qwen2.5-coder-1.5b-q4_k_m", "qwen2.5-coder-1.5b"},
                                         GoldenModel{"gemma3-270m-q4_k_m", "gemma3-270m"}));

}  // namespace
}  // namespace takt::text
