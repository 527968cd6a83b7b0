#include "text/spm/spm_encoder.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "text/detokenizer.h"
#include "text/small_vocabulary.h"
#include "text/tokenizer.h"

namespace takt::text::spm {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> make(VocabularyData data = small_spm_vocabulary()) {
  auto tokenizer = Tokenizer::create(std::move(data));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return *tokenizer;
}

TokenId id_of(const Tokenizer& tokenizer, std::string_view spelling) {
  for (TokenId id = 0; id < static_cast<TokenId>(tokenizer.vocabulary()->token_count()); ++id) {
    if (tokenizer.vocabulary()->text(id) == spelling) return id;
  }
  ADD_FAILURE() << spelling;
  return -1;
}

TokenId byte(uint8_t value) { return 3 + value; }

TEST(SpmEncoder, MergesByScore) {
  const auto tokenizer = make();
  const auto id = [&](std::string_view spelling) { return id_of(*tokenizer, spelling); };
  const TokenId space = id("\xE2\x96\x81");
  // "▁h" scores below "he", "ll", "llo", "hello", which leave no h for it.
  EXPECT_EQ(tokenizer->encode("hello", false, false), (Ids{space, id("hello")}));
  EXPECT_EQ(tokenizer->encode("ho", false, false), (Ids{id("\xE2\x96\x81h"), id("o")}));
  EXPECT_EQ(tokenizer->encode(" hello", false, true), (Ids{1, id("\xE2\x96\x81\xE2\x96\x81"), id("hello")}));
  EXPECT_EQ(tokenizer->encode("\xC3\xA9x", false, false), (Ids{space, id("\xC3\xA9"), byte('x')}));
  EXPECT_EQ(tokenizer->encode("", false, true), (Ids{1}));
}

TEST(SpmEncoder, KeepsBytesThatAreNotText) {
  const auto tokenizer = make();
  const TokenId space = id_of(*tokenizer, "\xE2\x96\x81");
  EXPECT_EQ(tokenizer->encode("\xFF\xE2\x82h", false, false),
            (Ids{space, byte(0xFF), byte(0xE2), byte(0x82), id_of(*tokenizer, "h")}));
}

TEST(SpmEncoder, WithoutByteTokensSaysUnknown) {
  auto data = small_spm_vocabulary();
  for (auto& type : data.token_types) {
    if (type == TokenType::byte) type = TokenType::unused;
  }
  const auto tokenizer = make(data);
  EXPECT_EQ(tokenizer->encode("\xF0\x9F\x98\x80h", false, false),
            (Ids{id_of(*tokenizer, "\xE2\x96\x81"), 0, id_of(*tokenizer, "h")}));
}

TEST(SpmEncoder, NeverMakesASpecialTokenByMerging) {
  const auto tokenizer = make();
  const auto id = [&](std::string_view spelling) { return id_of(*tokenizer, spelling); };
  const TokenId space = id("\xE2\x96\x81");
  // "<s" and ">" would make "<s>" (score 0, the best); "<0x41>" would be a byte.
  EXPECT_EQ(tokenizer->encode("<s>", false, false), (Ids{space, id("<s"), id(">")}));
  EXPECT_EQ(tokenizer->encode("<s>h", true, false), (Ids{1, id("\xE2\x96\x81h")}));
}

TEST(SpmEncoder, PutsASpaceBehindSpecialTokensAndDecodingTakesItAway) {
  const auto tokenizer = make();
  const std::string text = "hello<tool>hello</s> hello<tool>";
  const auto ids = tokenizer->encode(text, true, false);
  EXPECT_EQ(decode(tokenizer->vocabulary(), ids, {.strip_space_prefix = true, .show_special = true}), text);
  auto data = small_spm_vocabulary();
  data.add_space_prefix = false;
  const auto without = make(data);
  EXPECT_EQ(without->encode("hello", false, false), (Ids{id_of(*without, "hello")}));
  EXPECT_EQ(decode(without->vocabulary(), without->encode(" hello", false, false), {.strip_space_prefix = true}),
            " hello");
}

// All merges on the text as one piece, by the definition.
Ids encode_plainly(const Vocabulary& vocabulary, const std::string& escaped) {
  std::map<std::string, TokenId> ids;
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.token_count()); ++id) {
    if (vocabulary.type(id) == TokenType::normal) ids.emplace(vocabulary.text(id), id);
  }
  std::vector<std::string> symbols;
  for (size_t i = 0; i < escaped.size();) {
    const size_t size = static_cast<uint8_t>(escaped[i]) == 0xE2 ? 3 : 1;
    symbols.push_back(escaped.substr(i, size));
    i += size;
  }
  for (;;) {
    size_t best = symbols.size();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ids.find(symbols[i] + symbols[i + 1]);
      if (found == ids.end()) continue;
      if (best == symbols.size() ||
          vocabulary.score(found->second) > vocabulary.score(ids[symbols[best] + symbols[best + 1]]))
        best = i;
    }
    if (best == symbols.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  Ids out;
  for (const auto& symbol : symbols) out.push_back(ids.at(symbol));
  return out;
}

TEST(SpmEncoder, CutsOnlyWhereNoMergeCrosses) {
  std::mt19937 random(5);
  for (const bool has_inner_space : {false, true}) {
    auto data = small_spm_vocabulary();
    if (has_inner_space) {  // "o▁h": a cut between o and ▁ would be wrong
      data.tokens.push_back("o\xE2\x96\x81h");
      data.token_types.push_back(TokenType::normal);
      data.scores.push_back(0.5f);
    }
    const auto tokenizer = make(data);
    for (int round = 0; round < 2000; ++round) {
      std::string text, escaped = "\xE2\x96\x81";
      for (size_t i = 1 + random() % 50; i > 0; --i) {
        const char c = "hello   a<s>/"[random() % 13];
        text += c;
        escaped += c == ' ' ? "\xE2\x96\x81" : std::string(1, c);
      }
      ASSERT_EQ(tokenizer->encode(text, false, false), encode_plainly(*tokenizer->vocabulary(), escaped)) << text;
    }
  }
}

TEST(SpmEncoder, WorksLinearlyOnHostileText) {
  const auto tokenizer = make();
  for (const std::string_view kind : {"a", " ", "l", "hello", "\n", "\xFF", "\xE2\x96\x81", "<s>", "<tool", "o "}) {
    std::string text;
    while (text.size() < 1'000'000) text += kind;
    EncodeWork work;
    const auto ids = tokenizer->encode(text, false, false, &work);
    EXPECT_LE(work.merge_steps, 3 * text.size() + 64) << kind;
    EXPECT_LE(work.special_steps, 7 * text.size());
    if (kind != "\xE2\x96\x81") {
      EXPECT_EQ(decode_bytes(tokenizer->vocabulary(), ids, {.strip_space_prefix = true}), text);
    }
  }
}

}  // namespace
}  // namespace takt::text::spm
