// The seam between the tokenizer, which finds special tokens, and the two algorithms for the text between them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary_data.h"

namespace takt::text {

// What encoding cost, in steps that grow with the input: a bound that tests can check without a clock.
struct EncodeWork {
  uint64_t pieces = 0;            // words that merging saw as one each
  uint64_t merge_steps = 0;       // neighbouring pairs looked at
  uint64_t special_steps = 0;     // bytes compared while looking for special tokens
  uint64_t pattern_failures = 0;  // pieces whose splitting hit a limit of the pattern engine
};

// Immutable after creation apart from caches that do not change results; any number of threads may share one.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the tokens of `text`, which holds no special token, to `out`. `is_after_special`: at the start of a prompt or behind
  // a special token. Any bytes are allowed. Precondition: text.size() < kEncodeBytesMax.
  virtual void encode(std::string_view text, bool is_after_special, std::vector<TokenId>& out,
                      EncodeWork& work) const = 0;
};

// Positions are 32-bit numbers inside.
inline constexpr size_t kEncodeBytesMax = size_t{1} << 31;

}  // namespace takt::text
