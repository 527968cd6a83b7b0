#include "text/output_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "text/small_vocabulary.h"

namespace takt::text {
namespace {

constexpr TokenId kEnd = 272, kHello = 259, kWorld = 264;  // of small_bpe_vocabulary

OutputFilter make(std::vector<std::string> stops = {}, OutputFilter::Options options = {}) {
  return OutputFilter(*Vocabulary::create(small_bpe_vocabulary()), StopStrings::create(stops).value(), options);
}

TEST(OutputFilter, EndsAtAnEndToken) {
  auto filter = make();
  EXPECT_EQ(filter.accept(kHello).text, "hello");
  EXPECT_EQ(filter.accept(0xC3).text, "");
  const auto verdict = filter.accept(kEnd);
  EXPECT_TRUE(verdict.is_stop);
  EXPECT_EQ(verdict.text, "\uFFFD");
}

TEST(OutputFilter, IgnoresEndTokensOnRequest) {
  auto filter = make({}, {.ignore_eos = true});
  EXPECT_FALSE(filter.accept(kEnd).is_stop);
  EXPECT_EQ(filter.accept(kHello).text, "hello");
  auto shown = make({}, {.ignore_eos = true, .show_special = true});
  EXPECT_EQ(shown.accept(kEnd).text, "<|im_end|>");
}

TEST(OutputFilter, EndsAtAStopStringAcrossTokens) {
  auto filter = make({"o wor"});
  EXPECT_EQ(filter.accept(kHello).text, "hell");
  const auto verdict = filter.accept(kWorld);
  EXPECT_TRUE(verdict.is_stop);
  EXPECT_EQ(verdict.text, "");
}

TEST(OutputFilter, GivesBackWhatWasHeld) {
  auto by_end_token = make({"o wx"});
  EXPECT_EQ(by_end_token.accept(kHello).text, "hell");
  const auto verdict = by_end_token.accept(kEnd);
  EXPECT_TRUE(verdict.is_stop);
  EXPECT_EQ(verdict.text, "o");
  auto by_length = make({"o wx"});
  by_length.accept(kHello);
  by_length.accept(0xE6);
  EXPECT_EQ(by_length.finish(), "o\uFFFD");
  auto completed_by_replacement = make({"o\uFFFD"});
  completed_by_replacement.accept(kHello);
  completed_by_replacement.accept(0xE6);
  EXPECT_EQ(completed_by_replacement.finish(), "");
}

TEST(OutputFilter, JoinedTextsAreTheDecodedText) {
  std::mt19937 random(6);
  const std::shared_ptr<const Vocabulary> vocabulary = *Vocabulary::create(small_bpe_vocabulary());
  for (int round = 0; round < 1000; ++round) {
    std::vector<TokenId> ids;
    for (size_t i = random() % 20; i > 0; --i) ids.push_back(static_cast<TokenId>(random() % 271));
    auto filter = make({"never in any text"});
    std::string joined;
    for (const TokenId id : ids) joined += filter.accept(id).text;
    joined += filter.finish();
    ASSERT_EQ(joined, decode(vocabulary, ids, {}));
  }
}

}  // namespace
}  // namespace takt::text
