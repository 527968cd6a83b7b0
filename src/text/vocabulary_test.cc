#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "text/small_vocabulary.h"

namespace takt::text {
namespace {

std::shared_ptr<const Vocabulary> make(VocabularyData data) {
  auto vocabulary = Vocabulary::create(std::move(data));
  EXPECT_TRUE(vocabulary.ok()) << vocabulary.error().message;
  return *vocabulary;
}

TokenId add(VocabularyData& data, std::string text, TokenType type) {
  data.tokens.push_back(std::move(text));
  data.token_types.push_back(type);
  if (!data.scores.empty()) data.scores.push_back(0);
  return static_cast<TokenId>(data.tokens.size() - 1);
}

TEST(Vocabulary, GivesPiecesAsDecoded) {
  auto data = small_bpe_vocabulary();
  const TokenId unused = add(data, "[PAD1]", TokenType::unused);
  const TokenId raw = add(data, "a b", TokenType::normal);  // a space has another spelling: taken as it is
  const auto bpe = make(std::move(data));
  EXPECT_EQ(bpe->piece(' '), " ");
  EXPECT_EQ(bpe->piece(0xFF), "\xFF");
  EXPECT_EQ(bpe->piece(264), " world");
  EXPECT_EQ(bpe->piece(*bpe->bos()), "<|begin|>");
  EXPECT_EQ(bpe->piece(unused), "");
  EXPECT_EQ(bpe->piece(raw), "a b");
  EXPECT_EQ(bpe->text(' '), "\xC4\xA0");
  EXPECT_EQ(bpe->bos_text(), "<|begin|>");
  EXPECT_EQ(bpe->eos_text(), "<|im_end|>");

  const auto spm = make(small_spm_vocabulary());
  EXPECT_EQ(spm->piece(3 + 0x0A), "\n");
  EXPECT_EQ(spm->piece(263), "  ");
  EXPECT_EQ(spm->piece(264), " h");
}

TEST(Vocabulary, FindsEndTokensBySpellingAndById) {
  auto data = small_bpe_vocabulary();
  const TokenId eot = add(data, "<|eot_id|>", TokenType::normal);          // a file may call it an ordinary word
  const TokenId plain_closing_tag = add(data, "</s>", TokenType::normal);  // HTML
  const TokenId named = add(data, "[stop]", TokenType::control);
  data.eom = named;
  const auto vocabulary = make(std::move(data));
  EXPECT_TRUE(vocabulary->is_eog(*vocabulary->eos()));
  EXPECT_TRUE(vocabulary->is_eog(eot));
  EXPECT_TRUE(vocabulary->is_control(eot));
  EXPECT_TRUE(vocabulary->is_eog(named));
  EXPECT_FALSE(vocabulary->is_eog(plain_closing_tag));
  EXPECT_FALSE(vocabulary->is_eog(*vocabulary->bos()));
  EXPECT_EQ(vocabulary->eog_tokens(), (std::vector<TokenId>{*vocabulary->eos(), eot, named}));
}

TEST(Vocabulary, EndOfAMessageIsNotTheEndOfAHarmonyAnswer) {
  auto data = small_bpe_vocabulary();
  const TokenId end = add(data, "<|end|>", TokenType::control);
  EXPECT_TRUE(make(data)->is_eog(end));
  const TokenId call = add(data, "<|call|>", TokenType::control);
  add(data, "<|return|>", TokenType::control);
  const auto vocabulary = make(std::move(data));
  EXPECT_FALSE(vocabulary->is_eog(end));
  EXPECT_TRUE(vocabulary->is_eog(call));
}

TEST(Vocabulary, TakesMarkupForControl) {
  auto data = small_bpe_vocabulary();
  const TokenId user = add(data, "<|User|>", TokenType::user_defined);
  const TokenId wide = add(data,
                           "<\xEF\xBD\x9C"
                           "User\xEF\xBD\x9C>",
                           TokenType::user_defined);
  const TokenId tag = add(data, "<think>", TokenType::user_defined);
  const auto vocabulary = make(std::move(data));
  EXPECT_TRUE(vocabulary->is_control(user));
  EXPECT_TRUE(vocabulary->is_control(wide));
  EXPECT_FALSE(vocabulary->is_control(tag));
}

TEST(Vocabulary, DecidesAboutBos) {
  auto data = small_bpe_vocabulary();
  data.add_bos.reset();
  EXPECT_FALSE(make(data)->add_bos());
  data.pre = "llama-bpe";
  EXPECT_TRUE(make(data)->add_bos());
  data.add_bos = false;
  EXPECT_FALSE(make(data)->add_bos());
  auto spm = small_spm_vocabulary();
  EXPECT_TRUE(make(spm)->add_bos());
  EXPECT_TRUE(make(spm)->add_space_prefix());
  spm.bos.reset();
  EXPECT_FALSE(make(spm)->add_bos());
  spm.add_bos = true;
  EXPECT_FALSE(Vocabulary::create(spm).ok());
}

TEST(Vocabulary, RefusesBadData) {
  using base::ErrorCode;
  const auto error_of = [](VocabularyData data) {
    const auto vocabulary = Vocabulary::create(std::move(data));
    EXPECT_FALSE(vocabulary.ok());
    return vocabulary.ok() ? base::Error{} : vocabulary.error();
  };
  auto data = small_bpe_vocabulary();
  data.token_types.pop_back();
  EXPECT_EQ(error_of(data).code, ErrorCode::invalid_file);
  data = small_bpe_vocabulary();
  data.eot = static_cast<TokenId>(data.tokens.size());
  EXPECT_NE(error_of(data).message.find("eot_token_id"), std::string::npos);
  data = small_bpe_vocabulary();
  data.bos = -1;
  EXPECT_EQ(error_of(data).code, ErrorCode::invalid_file);
  data = small_bpe_vocabulary("no-such");
  EXPECT_EQ(error_of(data).code, ErrorCode::unsupported);
  data = small_bpe_vocabulary("");
  EXPECT_EQ(error_of(data).code, ErrorCode::unsupported);
  data = small_bpe_vocabulary();
  data.model = "t5";
  EXPECT_NE(error_of(data).message.find("\"t5\""), std::string::npos);
  data = small_spm_vocabulary();
  data.scores[5] = std::nanf("");
  EXPECT_NE(error_of(data).message.find("scores[5]"), std::string::npos);
  data = small_spm_vocabulary();
  data.scores.clear();
  EXPECT_EQ(error_of(data).code, ErrorCode::invalid_file);
  EXPECT_EQ(error_of(VocabularyData{}).code, ErrorCode::invalid_file);
}

}  // namespace
}  // namespace takt::text
