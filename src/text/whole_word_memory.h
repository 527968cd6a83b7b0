// Remembers, per token, whether merging its bytes leads back to that one token. Most words of a text are tokens, so that most
// merging is skipped once it was seen to be needless. Found lazily, because trying all tokens at load would cost a second.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "text/vocabulary_data.h"

namespace takt::text {

class WholeWordMemory {
 public:
  enum class State : unsigned char { unseen, merges_to_itself, merges_otherwise };

  explicit WholeWordMemory(size_t token_count) : states_(new std::atomic<State>[token_count]()) {}

  // Relaxed: every writer writes the same value for a token, and a reader who misses it only does the work again.
  State get(TokenId id) const { return states_[static_cast<size_t>(id)].load(std::memory_order_relaxed); }
  void set(TokenId id, bool merges_to_itself) const {
    states_[static_cast<size_t>(id)].store(merges_to_itself ? State::merges_to_itself : State::merges_otherwise,
                                           std::memory_order_relaxed);
  }

 private:
  std::unique_ptr<std::atomic<State>[]> states_;
};

}  // namespace takt::text
