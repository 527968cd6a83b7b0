#include "text/bpe/byte_map.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "text/small_vocabulary.h"

namespace takt::text::bpe {
namespace {

TEST(ByteMap, IsABijection) {
  std::set<uint32_t> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const uint32_t character = character_of_byte(static_cast<uint8_t>(byte));
    EXPECT_TRUE(characters.insert(character).second);
    EXPECT_EQ(byte_of_character(character), byte);
  }
}

TEST(ByteMap, HasTheKnownSpellings) {
  EXPECT_EQ(character_of_byte('A'), uint32_t{'A'});
  EXPECT_EQ(character_of_byte(' '), 0x120u);   // Ġ
  EXPECT_EQ(character_of_byte('\n'), 0x10Au);  // Ċ
  EXPECT_EQ(character_of_byte(0xAD), 0x143u);
  EXPECT_EQ(byte_of_character(' '), std::nullopt);
  EXPECT_EQ(byte_of_character(0x144), std::nullopt);
  EXPECT_EQ(byte_of_character(0x10FFFF), std::nullopt);
}

TEST(ByteMap, ReadsSpellings) {
  std::string all, out = "kept";
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  ASSERT_TRUE(append_spelled_bytes(spell(all), out));
  EXPECT_EQ(out, "kept" + all);
  out = "kept";
  EXPECT_FALSE(append_spelled_bytes("ab c", out));            // a space is spelled otherwise
  EXPECT_FALSE(append_spelled_bytes("ab\xE2\x96\x81", out));  // ▁
  EXPECT_FALSE(append_spelled_bytes("ab\xC4", out));          // half a character
  EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace takt::text::bpe
