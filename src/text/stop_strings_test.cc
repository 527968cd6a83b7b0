#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace takt::text {
namespace {

StopStrings make(std::vector<std::string> strings) {
  auto stops = StopStrings::create(strings);
  EXPECT_TRUE(stops.ok());
  return std::move(*stops);
}

TEST(StopStrings, HoldsBackOnlyTheLongestPossibleBeginning) {
  auto stops = make({"STOP", "OPEN"});
  EXPECT_EQ(stops.push("ab").text, "ab");
  EXPECT_EQ(stops.push("S").text, "");
  EXPECT_EQ(stops.push("x").text, "Sx");
  EXPECT_EQ(stops.push("yO").text, "y");
  EXPECT_EQ(stops.push("PST").text, "OP");
}

TEST(StopStrings, EndsAtTheFirstCompleteOne) {
  auto stops = make({"STOP", "OPEN"});
  const auto step = stops.push("abSTOPEN");
  EXPECT_TRUE(step.is_stop);
  EXPECT_EQ(step.text, "ab");
}

TEST(StopStrings, OfThoseCompleteAtOnceTheLongestWins) {
  auto stops = make({"c", "bc", "abcd"});
  const auto step = stops.push("xabcd");
  EXPECT_TRUE(step.is_stop);
  EXPECT_EQ(step.text, "xa");
}

TEST(StopStrings, AStopStringMayArriveInPieces) {
  auto stops = make({"\n\nUser:"});
  EXPECT_EQ(stops.push("Hi.\n").text, "Hi.");
  EXPECT_EQ(stops.push("\n").text, "");
  EXPECT_EQ(stops.push("\nUse").text, "\n");
  const auto step = stops.push("r: more");
  EXPECT_TRUE(step.is_stop);
  EXPECT_EQ(step.text, "");
}

TEST(StopStrings, GivesBackWhatWasHeldAtTheEnd) {
  auto stops = make({"STOP"});
  EXPECT_EQ(stops.push("aSTO").text, "a");
  EXPECT_EQ(stops.finish(), "STO");
  EXPECT_EQ(stops.finish(), "");
  StopStrings none;
  EXPECT_EQ(none.push("anything").text, "anything");
  EXPECT_EQ(none.finish(), "");
}

TEST(StopStrings, RefusesWhatCannotBeOne) {
  EXPECT_FALSE(StopStrings::create(std::vector<std::string>{""}).ok());
  EXPECT_FALSE(StopStrings::create(std::vector<std::string>{"a", "\xFF"}).ok());
  EXPECT_FALSE(StopStrings::create(std::vector<std::string>{"\xE2\x82"}).ok());
  EXPECT_FALSE(StopStrings::create(std::vector<std::string>{std::string(StopStrings::kTotalBytesMax + 1, 'a')}).ok());
  EXPECT_TRUE(StopStrings::create(std::vector<std::string>{std::string(StopStrings::kTotalBytesMax, 'a')}).ok());
}

// The definitions, word for word.
std::string text_before_stop(const std::string& text, const std::vector<std::string>& strings, bool& is_stop) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& string : strings) {
      if (std::string_view(text).substr(0, end).ends_with(string)) longest = std::max(longest, string.size());
    }
    is_stop = longest > 0;
    if (is_stop) return text.substr(0, end - longest);
  }
  return text;
}

size_t bytes_to_hold(const std::string& text, const std::vector<std::string>& strings) {
  size_t longest = 0;
  for (const auto& string : strings) {
    for (size_t size = 1; size < string.size() && size <= text.size(); ++size) {
      if (text.ends_with(string.substr(0, size))) longest = std::max(longest, size);
    }
  }
  return longest;
}

TEST(StopStrings, FollowTheDefinitionHoweverTheTextIsCut) {
  std::mt19937 random(9);
  const auto random_text = [&](size_t size) {
    std::string text;
    while (text.size() < size) text += "ab"[random() % 2];
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> strings;
    for (size_t i = 1 + random() % 3; i > 0; --i) strings.push_back(random_text(2 + random() % 7));
    const std::string text = random_text(random() % 40);
    bool expects_stop = false;
    const std::string expected = text_before_stop(text, strings, expects_stop);
    auto stops = make(strings);
    std::string shown;
    bool is_stop = false;
    for (size_t at = 0; at < text.size() && !is_stop;) {
      const size_t size = 1 + random() % 4;
      const auto step = stops.push(std::string_view(text).substr(at, size));
      at = std::min(at + size, text.size());
      shown += step.text;
      is_stop = step.is_stop;
      if (!is_stop) {
        ASSERT_EQ(at - shown.size(), bytes_to_hold(text.substr(0, at), strings));
      }
    }
    if (!is_stop) shown += stops.finish();
    ASSERT_EQ(is_stop, expects_stop);
    ASSERT_EQ(shown, expected);
  }
}

TEST(StopStrings, TakeThousands) {
  std::vector<std::string> strings;
  for (int i = 0; i < 5000; ++i) strings.push_back("stop number " + std::to_string(100000 + i) + "!");
  auto stops = make(strings);
  EXPECT_EQ(stops.push("stop number 10").text, "");
  EXPECT_EQ(stops.push("x").text, "stop number 10x");
  const auto step = stops.push("stop number 104999!");
  EXPECT_TRUE(step.is_stop);
  EXPECT_EQ(step.text, "");
}

}  // namespace
}  // namespace takt::text
