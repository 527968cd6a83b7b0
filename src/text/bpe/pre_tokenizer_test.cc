#include "text/bpe/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace takt::text::bpe {
namespace {

using Pieces = std::vector<std::string>;

class Collector final : public PreTokenizer::Sink {
 public:
  void piece(std::string_view piece) override { pieces.emplace_back(piece); }
  Pieces pieces;
};

Pieces split(std::string_view name, std::string_view text) {
  const auto spec = find_pre_tokenizer(name);
  EXPECT_TRUE(spec.ok());
  const auto pre_tokenizer = PreTokenizer::create(**spec);
  EXPECT_TRUE(pre_tokenizer.ok());
  Collector collector;
  EXPECT_EQ(pre_tokenizer->split(text, collector), 0u);
  return collector.pieces;
}

TEST(PreTokenizer, SplitsAsEachFamilyDoes) {
  const std::string text = "I'LL pay 1234 it's  x\n\n!?";
  EXPECT_EQ(split("gpt-2", text), (Pieces{"I", "'", "LL", " pay", " 1234", " it", "'s", " ", " x", "\n", "\n", "!?"}));
  EXPECT_EQ(split("smollm", text),
            (Pieces{"I", "'", "LL", " pay", " ", "1", "2", "3", "4", " it", "'s", " ", " x", "\n", "\n", "!?"}));
  EXPECT_EQ(split("llama-bpe", text),
            (Pieces{"I", "'LL", " pay", " ", "123", "4", " it", "'s", " ", " x", "\n\n", "!?"}));
  EXPECT_EQ(split("qwen2", text),
            (Pieces{"I", "'LL", " pay", " ", "1", "2", "3", "4", " it", "'s", " ", " x", "\n\n", "!?"}));
  EXPECT_EQ(split("deepseek-coder", text),
            (Pieces{"I", "'", "LL", " pay", " ", "1", "2", "3", "4", " it", "'", "s", " ", " x", "\n", "\n", "!?"}));
  EXPECT_EQ(split("deepseek-llm", text),
            (Pieces{"I", "'", "LL", " pay", " ", "1234", " it", "'", "s", " ", " x", "\n", "\n", "!?"}));
  EXPECT_EQ(split("falcon", text),
            (Pieces{"I", "'", "LL", " pay", " ", "123", "4", " it", "'", "s", " ", " x", "\n\n", "!?"}));
  EXPECT_EQ(split("bloom", text), (Pieces{"I'LL", " pay", " 1234", " it's", " ", " x", "\n\n!?"}));
}

TEST(PreTokenizer, KnowsCase) {
  EXPECT_EQ(split("gpt-4o", "camelCase HTMLPage don't x/\n12345"),
            (Pieces{"camel", "Case", " HTMLPage", " don't", " x", "/\n", "123", "45"}));
  EXPECT_EQ(split("tekken", "camelCase don't 12"), (Pieces{"camel", "Case", " don", "'t", " ", "1", "2"}));
}

TEST(PreTokenizer, KnowsScripts) {
  EXPECT_EQ(split("deepseek-v3", "ab漢字かな1234!x"), (Pieces{"ab", "漢字かな", "123", "4", "!x"}));
  EXPECT_EQ(split("qwen35", "e\xCC\x81t"), (Pieces{"e\xCC\x81t"}));  // a combining mark stays with its letter
  EXPECT_EQ(split("qwen2", "e\xCC\x81t"), (Pieces{"e", "\xCC\x81t"}));
  EXPECT_EQ(split("qwen2", "'\xC5\xBF"), (Pieces{"'\xC5\xBF"}));  // the long s is no contraction
  EXPECT_EQ(split("gpt-2",
                  "a\xC2\xA0\xE3\x80\x80"
                  "b"),
            (Pieces{"a", "\xC2\xA0", "\xE3\x80\x80", "b"}));  // Unicode's spaces
  EXPECT_EQ(split("gpt-2",
                  "a \xE1\xA0\x8E"
                  "b"),
            (Pieces{"a", " \xE1\xA0\x8E", "b"}));  // U+180E is none
}

TEST(PreTokenizer, KeepsBytesThatAreNotText) {
  EXPECT_EQ(split("gpt-2", "ab\xFF\xFE cd\xE2\x82"), (Pieces{"ab", "\xFF\xFE", " cd", "\xE2\x82"}));
  EXPECT_EQ(split("gpt-2", ""), Pieces{});
}

TEST(PreTokenizer, LosesNothing) {
  std::mt19937 random(7);
  const std::string_view parts[] = {"a",    "Z",        "9", " ",      "\n",     "\r",     "\t",
                                    "'s",   "'LL",      "é", "漢",     "か",     "!",      "_",
                                    "\xFF", "\xE2\x82", "😀", "\u0301", "\u00A0", "\u180E", std::string_view("\0", 1)};
  for (const std::string_view name : pre_tokenizer_names()) {
    const auto pre_tokenizer = PreTokenizer::create(**find_pre_tokenizer(name));
    ASSERT_TRUE(pre_tokenizer.ok()) << name << ": " << pre_tokenizer.error().message;
    for (int round = 0; round < 200; ++round) {
      std::string text, joined;
      for (size_t i = random() % 30; i > 0; --i) text += parts[random() % std::size(parts)];
      Collector collector;
      ASSERT_EQ(pre_tokenizer->split(text, collector), 0u);
      for (const std::string& piece : collector.pieces) {
        ASSERT_FALSE(piece.empty());
        joined += piece;
      }
      ASSERT_EQ(joined, text) << name;
    }
  }
}

TEST(PreTokenizer, KeepsTheTextWhenTheEngineGivesUp) {
  const std::string_view patterns[] = {"(?:a|aa)+b|c"};  // 2^n ways to fail
  const auto pre_tokenizer = PreTokenizer::create({patterns});
  ASSERT_TRUE(pre_tokenizer.ok());
  Collector collector;
  const std::string hostile = "c" + std::string(200, 'a');
  EXPECT_EQ(pre_tokenizer->split(hostile, collector), 1u);
  EXPECT_EQ(collector.pieces, (Pieces{"c", std::string(200, 'a')}));
}

TEST(PreTokenizer, NoTablePatternReachesItsLimitOnAMegabyteOfOneKind) {
  const std::string_view kinds[] = {" ", "\n", " \n", "\n ",    "a",  "A",    "aA",   "1",
                                    "!", "'",  "'s",  "\u0301", "漢", "\xFF", "\x01", "\u00A0"};
  std::set<const std::string_view*> seen;  // many names share their patterns
  for (const std::string_view name : pre_tokenizer_names()) {
    const PreTokenizerSpec& spec = **find_pre_tokenizer(name);
    if (!seen.insert(spec.patterns.data()).second) continue;
    const auto pre_tokenizer = PreTokenizer::create(spec);
    for (const std::string_view kind : kinds) {
      std::string text;
      while (text.size() < 1'000'000) text += kind;
      text += "x";
      Collector collector;
      EXPECT_EQ(pre_tokenizer->split(text, collector), 0u) << name;
    }
  }
}

TEST(PreTokenizer, RefusesUnknownNames) {
  const auto unknown = find_pre_tokenizer("qwen99");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, base::ErrorCode::unsupported);
  EXPECT_NE(unknown.error().message.find("\"qwen99\""), std::string::npos);
  EXPECT_NE(unknown.error().message.find("llama-bpe"), std::string::npos);
  EXPECT_FALSE(find_pre_tokenizer("").ok());
  EXPECT_FALSE(find_pre_tokenizer("default").ok());
}

}  // namespace
}  // namespace takt::text::bpe
