#include "text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::text {
namespace {

using Kind = Utf8Step::Kind;

std::string encode_code_point(uint32_t c) {
  std::string out;
  if (c < 0x80) {
    out = {static_cast<char>(c)};
  } else if (c < 0x800) {
    out = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
           static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    out = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
           static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
  return out;
}

TEST(Utf8, TakesEveryScalarValueAndNoSurrogate) {
  for (uint32_t c = 0; c < 0x110000; ++c) {
    const std::string text = encode_code_point(c);
    const Utf8Step step = next_utf8(text);
    if (c >= 0xD800 && c < 0xE000) {
      ASSERT_EQ(step.kind, Kind::invalid) << c;
      continue;
    }
    ASSERT_EQ(step.kind, Kind::valid) << c;
    ASSERT_EQ(step.size, text.size()) << c;
    for (size_t size = 1; size < text.size(); ++size) {
      const Utf8Step part = next_utf8(std::string_view(text).substr(0, size));
      ASSERT_EQ(part.kind, Kind::incomplete) << c;
      ASSERT_EQ(part.size, size) << c;
    }
  }
}

TEST(Utf8, CutsIllFormedBytesIntoMaximalParts) {
  const struct {
    std::string text;
    size_t size;
  } cases[] = {{"\x80", 1},
               {"\xC0\x80", 1},
               {"\xC1\xBF", 1},
               {"\xE0\x80\x80", 1},
               {"\xED\xA0\x80", 1},
               {"\xF0\x80\x80\x80", 1},
               {"\xF4\x90\x80", 1},
               {"\xF5\x80\x80\x80", 1},
               {"\xFF", 1},
               {"\xE2\x82"
                "a",
                2},
               {"\xF0\x9F\x98"
                "a",
                3},
               {"\xC3\xC3", 1}};
  for (const auto& c : cases) {
    const Utf8Step step = next_utf8(c.text);
    EXPECT_EQ(step.kind, Kind::invalid) << testing::PrintToString(c.text);
    EXPECT_EQ(step.size, c.size) << testing::PrintToString(c.text);
  }
}

TEST(Utf8, MeasuresPrefixes) {
  EXPECT_EQ(utf8_valid_prefix(""), 0u);
  EXPECT_EQ(utf8_valid_prefix("plain text of more than eight bytes"), 35u);
  EXPECT_EQ(utf8_valid_prefix("12345678\xC3\xA9\xFFx"), 10u);
  EXPECT_EQ(utf8_valid_prefix("abc\xE2\x82"), 3u);
  EXPECT_EQ(utf8_invalid_prefix("\xFF\xFE\xE2\x82x"), 4u);
  EXPECT_EQ(utf8_invalid_prefix("x"), 0u);
  EXPECT_EQ(utf8_invalid_prefix("\xF0\x9F"), 2u);
}

}  // namespace
}  // namespace takt::text
