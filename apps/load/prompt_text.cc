#include "load/prompt_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace takt::apps {
namespace {

constexpr const char* kWords[] = {
    "that", "with", "have", "this", "will", "your", "from", "they", "know", "want", "been", "good", "much",
    "some", "time", "very", "when", "come", "here", "just", "like", "long", "make", "many", "more", "only",
    "over", "such", "take", "than", "them", "well", "were", "what", "year", "work", "down", "each", "even",
    "find", "give", "hand", "high", "home", "keep", "last", "left", "life", "live", "look", "most", "move",
    "must", "name", "need", "next", "open", "part", "play", "read", "said", "same", "seem", "show"};
constexpr uint32_t kWordCount = sizeof kWords / sizeof kWords[0];

// Nine digits: as many tokens whatever the number, for tokenizers that take digits singly or in threes.
constexpr uint64_t kFreshNumbers = 1'000'000'000;

}  // namespace

TokenScale TokenScale::from(uint32_t words_less, int64_t tokens_less, uint32_t words_more, int64_t tokens_more) {
  if (tokens_more <= tokens_less) return {};
  TokenScale scale;
  scale.per_word = static_cast<double>(tokens_more - tokens_less) / static_cast<double>(words_more - words_less);
  scale.fixed = static_cast<double>(tokens_less) - scale.per_word * static_cast<double>(words_less);
  return scale;
}

uint32_t TokenScale::words(double tokens) const {
  return static_cast<uint32_t>(std::max(1.0, std::round((tokens - fixed) / per_word)));
}

std::string PromptText::fresh(uint32_t words) {
  // Steps by a prime through all numbers of nine digits: none comes twice in a run.
  const uint64_t number = (salt_ + ++count_ * 314'606'869) % kFreshNumbers;
  char begin[16];
  std::snprintf(begin, sizeof begin, "%09llu", static_cast<unsigned long long>(number));
  worlds::Random random(salt_ ^ (count_ << 32));
  return begin + words_of(random, words);
}

std::string PromptText::named(uint64_t name, uint32_t words) const {
  worlds::Random random(salt_ ^ (name * 0x9e3779b97f4a7c15u));
  return words_of(random, words);
}

std::string PromptText::words_of(worlds::Random& random, uint32_t words) {
  std::string text;
  text.reserve(size_t{5} * words);
  for (uint32_t i = 0; i < words; ++i) (text += ' ') += kWords[random.below(kWordCount)];
  return text;
}

}  // namespace takt::apps
