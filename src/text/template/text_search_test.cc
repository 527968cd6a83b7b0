#include "text/template/text_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace takt::text::jinja {
namespace {

TEST(TextSearch, AgreesWithTheLibrary) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto letters = [&](size_t count) {
      std::string text;
      while (text.size() < count) text += "ab"[random() % 8 == 0];
      return text;
    };
    const std::string text = letters(random() % 300);
    std::string needle = letters(random() % 60);
    if (random() % 2 == 0 && !text.empty()) needle = text.substr(random() % text.size(), random() % 80);
    const size_t from = random() % (text.size() + 2);
    EXPECT_EQ(find_text(text, needle, from), text.find(needle, from)) << text << ", " << needle << ", " << from;
    EXPECT_EQ(find_last_text(text, needle), text.rfind(needle)) << text << ", " << needle;
  }
}

TEST(TextSearch, IsLinear) {  // the library's search would take hours
  const std::string text(8 << 20, 'a');
  const std::string needle = std::string(4 << 20, 'a') + "b";
  EXPECT_EQ(find_text(text, needle), std::string::npos);
  EXPECT_EQ(find_last_text(text, "b" + std::string(4 << 20, 'a')), std::string::npos);
}

}  // namespace
}  // namespace takt::text::jinja
