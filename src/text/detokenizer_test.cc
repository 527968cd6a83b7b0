#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "text/small_vocabulary.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace takt::text {
namespace {

using Ids = std::vector<TokenId>;
constexpr TokenId kBos = 271, kEnd = 272, kTool = 273;  // of small_bpe_vocabulary

std::shared_ptr<const Vocabulary> bpe() { return *Vocabulary::create(small_bpe_vocabulary()); }

TEST(StreamDecoder, HoldsIncompleteCharacters) {
  StreamDecoder decoder(bpe());
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "😀");
  EXPECT_EQ(decoder.push(0xE6), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ReplacesWhatCanNeverBecomeText) {
  StreamDecoder decoder(bpe());
  EXPECT_EQ(decoder.push(0xFF), "\uFFFD");
  EXPECT_EQ(decoder.push(0xE6), "");
  EXPECT_EQ(decoder.push('a'),
            "\uFFFD"
            "a");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0xC3), "\uFFFD");
  EXPECT_EQ(decoder.push(0xA9), "é");
}

TEST(StreamDecoder, ShowsControlTokensOnlyWhenAsked) {
  const Ids ids{kBos, 'a', kTool, kEnd, 100000, -5};
  EXPECT_EQ(decode(bpe(), ids, {}), "a<tool>");
  EXPECT_EQ(decode(bpe(), ids, {.show_special = true}), "<|begin|>a<tool><|im_end|>");
}

TEST(StreamDecoder, StripsTheSpacePrefixOnlyWhenAsked) {
  const std::shared_ptr<const Vocabulary> spm = *Vocabulary::create(small_spm_vocabulary());
  const Ids ids{1, 264, 263, 264};  // <s> "▁h" "▁▁" "▁h"
  EXPECT_EQ(decode(spm, ids, {}), " h   h");
  EXPECT_EQ(decode(spm, ids, {.strip_space_prefix = true}), "h   h");
}

TEST(StreamDecoder, ChunksJoinToTheWhole) {
  std::mt19937 random(4);
  for (auto data : {small_bpe_vocabulary(), small_spm_vocabulary()}) {
    const std::shared_ptr<const Vocabulary> vocabulary = *Vocabulary::create(std::move(data));
    for (int round = 0; round < 1000; ++round) {
      Ids ids;
      for (size_t i = random() % 20; i > 0; --i)
        ids.push_back(static_cast<TokenId>(random() % vocabulary->token_count()));
      const DecodeOptions options{.strip_space_prefix = random() % 2 == 0, .show_special = random() % 2 == 0};
      StreamDecoder decoder(vocabulary, options);
      std::string joined;
      for (const TokenId id : ids) {
        const std::string chunk = decoder.push(id);
        ASSERT_EQ(utf8_valid_prefix(chunk), chunk.size());
        joined += chunk;
      }
      joined += decoder.finish();
      ASSERT_EQ(joined, decode(vocabulary, ids, options));
      const std::string bytes = decode_bytes(vocabulary, ids, options);
      if (utf8_valid_prefix(bytes) == bytes.size()) {
        ASSERT_EQ(joined, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace takt::text
