#include "text/bpe/bpe_encoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "text/detokenizer.h"
#include "text/small_vocabulary.h"
#include "text/tokenizer.h"

namespace takt::text::bpe {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> make(VocabularyData data) {
  auto tokenizer = Tokenizer::create(std::move(data));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return *tokenizer;
}

Ids encode(const Tokenizer& tokenizer, std::string_view text) { return tokenizer.encode(text, false, false); }

TEST(BpeEncoder, MergesByRank) {
  const auto tokenizer = make(small_bpe_vocabulary());
  EXPECT_EQ(encode(*tokenizer, "hello world"), (Ids{259, 264}));
  EXPECT_EQ(encode(*tokenizer, "hell"), (Ids{257, 256}));
  EXPECT_EQ(encode(*tokenizer, "world"), (Ids{'w', 261, 263}));
  EXPECT_EQ(encode(*tokenizer, "aaaaaaa"), (Ids{266, 265, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "\xC3\xA9"), (Ids{269}));
  EXPECT_EQ(encode(*tokenizer, ""), Ids{});
}

TEST(BpeEncoder, GoesThroughSpellingsThatAreNoTokens) {
  // The merge "\xF0\x9F" + "\x98" needs "\xF0" + "\x9F", which nothing makes: it never applies.
  auto data = small_bpe_vocabulary();
  EXPECT_EQ(encode(*make(data), "\xF0\x9F\x98\x80"), (Ids{0xF0, 0x9F, 0x98, 0x80}));
  // "xy" is no token, but on the way to "xyz"; a lone "xy" falls back to its bytes.
  data.merges.push_back("x y");
  data.merges.push_back("xy z");
  data.tokens.push_back("xyz");
  data.token_types.push_back(TokenType::normal);
  const auto xyz = static_cast<TokenId>(data.tokens.size() - 1);
  EXPECT_EQ(encode(*make(data), "xyz"), (Ids{xyz}));
  EXPECT_EQ(encode(*make(data), "xyw"), (Ids{'x', 'y', 'w'}));
}

TEST(BpeEncoder, TakesWholeWordsFirstOnlyWhereTheFamilyDoes) {
  auto data = small_bpe_vocabulary("llama-bpe");
  data.tokens.push_back("hellu");  // no merge leads here
  data.token_types.push_back(TokenType::normal);
  const auto hellu = static_cast<TokenId>(data.tokens.size() - 1);
  EXPECT_EQ(encode(*make(data), "hellu"), (Ids{hellu}));
  data.pre = "qwen2";
  const auto tokenizer = make(data);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(encode(*tokenizer, "hellu"), (Ids{257, 256, 'u'}));
}

TEST(BpeEncoder, NeverMakesASpecialTokenByMerging) {
  auto data = small_bpe_vocabulary("llama-bpe");
  data.merges.push_back("b y");
  data.tokens.push_back("by");
  data.token_types.push_back(TokenType::control);
  EXPECT_EQ(encode(*make(data), "by"), (Ids{'b', 'y'}));
}

TEST(BpeEncoder, ReplacesBytesWithoutAToken) {
  auto data = small_bpe_vocabulary();
  data.tokens[0x04] = "[gone]";
  data.token_types[0x04] = TokenType::unused;
  const auto tokenizer = make(data);
  const auto ids = encode(*tokenizer,
                          "a\x04"
                          "b");
  EXPECT_EQ(ids, (Ids{'a', 0xEF, 0xBF, 0xBD, 'b'}));
  data.tokens[0xEF] = "[gone too]";
  data.token_types[0xEF] = TokenType::unused;
  EXPECT_EQ(encode(*make(data),
                   "a\x04"
                   "b"),
            (Ids{'a', 'b'}));
}

TEST(BpeEncoder, InvertsForAnyBytes) {
  std::mt19937 random(11);
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "deepseek-coder", "gpt-4o"}) {
    const auto tokenizer = make(small_bpe_vocabulary(pre));
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (size_t i = random() % 60; i > 0; --i)
        text.push_back(static_cast<char>(random() % 3 == 0 ? random() : "hello wrd\n"[random() % 10]));
      for (const bool parse_special : {false, true}) {
        const auto ids = tokenizer->encode(text, parse_special, false);
        ASSERT_EQ(decode_bytes(tokenizer->vocabulary(), ids, {.show_special = true}), text);
      }
    }
  }
}

TEST(BpeEncoder, RefusesMalformedMerges) {
  for (const char* merge : {"ab", "", " ", "a "}) {
    auto data = small_bpe_vocabulary();
    data.merges.push_back(merge);
    const auto tokenizer = Tokenizer::create(std::move(data));
    ASSERT_FALSE(tokenizer.ok()) << merge;
    EXPECT_EQ(tokenizer.error().code, base::ErrorCode::invalid_file);
    EXPECT_NE(tokenizer.error().message.find("merges[15]"), std::string::npos);
  }
}

// The work, not the time, is bounded: n bytes cost a small multiple of n steps.
TEST(BpeEncoder, WorksLinearlyOnHostileText) {
  constexpr size_t kBytes = 1'000'000;
  for (const char* pre : {"llama-bpe", "deepseek-llm"}) {
    const auto tokenizer = make(small_bpe_vocabulary(pre));
    for (const std::string_view kind : {"a", " ", "l", "hello", "\n", "\xFF", "\xC3", "<|im_", "<", " \n", "aA", "A"}) {
      std::string text;
      while (text.size() < kBytes) text += kind;
      EncodeWork work;
      const auto ids = tokenizer->encode(text, true, false, &work);
      EXPECT_LE(work.merge_steps, 3 * text.size()) << pre << " " << kind;
      EXPECT_LE(work.special_steps, 11 * text.size());
      EXPECT_EQ(work.pattern_failures, 0u);
      EXPECT_EQ(decode_bytes(tokenizer->vocabulary(), ids, {}), text);
    }
  }
}

}  // namespace
}  // namespace takt::text::bpe
