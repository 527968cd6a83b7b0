// Finds tokens that stand in text by their spelling: control tokens where the caller vouches for the text, user-defined ones
// everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace takt::text {

// A part of a text with one answer to the question whether it may name control tokens.
struct TrustRange {
  size_t end;          // first byte behind it; it begins where the one before ends
  bool parse_special;  // control and unknown tokens are found here; a match must lie inside ranges that all say so
};

struct SpecialMatch {
  size_t begin;
  size_t end;
  TokenId id;
};

// Immutable; any number of threads may share one.
class SpecialTokens {
 public:
  explicit SpecialTokens(std::shared_ptr<const Vocabulary> vocabulary);

  // All matches in order, not overlapping: the leftmost, and of several that begin there the longest. Precondition: `ranges`
  // are ascending, the last ends at text.size(). Steps: at most text.size() * (longest spelling + 1).
  std::vector<SpecialMatch> find_all(std::string_view text, std::span<const TrustRange> ranges, uint64_t& steps) const;

 private:
  SpecialMatch match_at(std::string_view text, size_t at, size_t trusted_end, uint64_t& steps) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<TokenId> sorted_;                                     // by spelling
  std::array<std::pair<uint32_t, uint32_t>, 256> by_first_byte_{};  // range of sorted_
};

}  // namespace takt::text
