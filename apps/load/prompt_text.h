// Texts of a wanted number of tokens, for a server whose tokenizer is not known.
#pragma once

#include <cstdint>
#include <string>

#include "worlds/sim/random.h"

namespace takt::apps {

// tokens = fixed + per_word × words, as the server counts them.
struct TokenScale {
  double fixed = 0;
  double per_word = 1;

  // The line through two counts of the server's. Precondition: words_less < words_more. A server that counts nothing sensible (not
  // more tokens for more words) leaves the default.
  static TokenScale from(uint32_t words_less, int64_t tokens_less, uint32_t words_more, int64_t tokens_more);
  // At least 1.
  uint32_t words(double tokens) const;
};

// Words of four letters that are one token each in vocabularies made from English, and five in one of bytes: texts with as many
// words have as many tokens. Each text is other words.
class PromptText {
 public:
  // `salt` makes this run's texts differ from all others', so that no cache of an earlier run helps.
  explicit PromptText(uint64_t salt) : salt_(salt) {}

  // Begins with a number that no other text has.
  std::string fresh(uint32_t words);
  // The same for the same name, within a run.
  std::string named(uint64_t name, uint32_t words) const;

 private:
  static std::string words_of(worlds::Random& random, uint32_t words);

  uint64_t salt_;
  uint64_t count_ = 0;
};

}  // namespace takt::apps
