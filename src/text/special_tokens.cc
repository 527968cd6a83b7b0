#include "text/special_tokens.h"

#include <algorithm>

namespace takt::text {

SpecialTokens::SpecialTokens(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (size_t i = 0; i < vocabulary_->token_count(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (vocabulary_->is_special(id) && !vocabulary_->text(id).empty()) sorted_.push_back(id);
  }
  const auto spelling = [this](TokenId id) { return vocabulary_->text(id); };
  std::stable_sort(sorted_.begin(), sorted_.end(), [&](TokenId a, TokenId b) { return spelling(a) < spelling(b); });
  // Of equal spellings the lowest id stays.
  sorted_.erase(
      std::unique(sorted_.begin(), sorted_.end(), [&](TokenId a, TokenId b) { return spelling(a) == spelling(b); }),
      sorted_.end());
  for (uint32_t i = 0; i < sorted_.size(); ++i) {
    auto& range = by_first_byte_[static_cast<uint8_t>(spelling(sorted_[i])[0])];
    if (range.second == 0) range.first = i;
    range.second = i + 1;
  }
}

// The longest token that begins at `at`, with end == at when there is none. A control token has to end by trusted_end. The
// spellings that agree with the text so far are a shrinking range of the sorted list; the one that ends at this depth, if any,
// is its first.
SpecialMatch SpecialTokens::match_at(std::string_view text, size_t at, size_t trusted_end, uint64_t& steps) const {
  SpecialMatch best{at, at, 0};
  auto [low, high] = by_first_byte_[static_cast<uint8_t>(text[at])];
  for (size_t depth = 1; low < high; ++depth) {
    ++steps;
    const TokenId first = sorted_[low];
    if (vocabulary_->text(first).size() == depth) {
      const bool is_allowed = vocabulary_->type(first) == TokenType::user_defined || at + depth <= trusted_end;
      if (is_allowed) best = {at, at + depth, first};
      ++low;
    }
    if (at + depth == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    const auto byte_of = [&](TokenId id) { return static_cast<uint8_t>(vocabulary_->text(id)[depth]); };
    const auto begin = sorted_.begin();
    const auto new_low =
        std::lower_bound(begin + low, begin + high, byte, [&](TokenId id, uint8_t b) { return byte_of(id) < b; });
    const auto new_high =
        std::upper_bound(new_low, begin + high, byte, [&](uint8_t b, TokenId id) { return b < byte_of(id); });
    low = static_cast<uint32_t>(new_low - begin);
    high = static_cast<uint32_t>(new_high - begin);
  }
  return best;
}

std::vector<SpecialMatch> SpecialTokens::find_all(std::string_view text, std::span<const TrustRange> ranges,
                                                  uint64_t& steps) const {
  std::vector<SpecialMatch> matches;
  size_t range = 0;         // the one that holds `at`
  size_t trusted_end = 0;   // end of the run of trusted ranges that holds `at`; 0 when it is not trusted
  size_t resolved_end = 0;  // trusted_end is right up to here
  for (size_t at = 0; at < text.size();) {
    if (at >= resolved_end) {
      while (ranges[range].end <= at) ++range;
      size_t last = range;
      while (ranges[range].parse_special && last + 1 < ranges.size() && ranges[last + 1].parse_special) ++last;
      trusted_end = ranges[range].parse_special ? ranges[last].end : 0;
      resolved_end = ranges[last].end;
      range = last;
    }
    const auto candidates = by_first_byte_[static_cast<uint8_t>(text[at])];
    if (candidates.first == candidates.second) {
      ++at;
      continue;
    }
    const SpecialMatch match = match_at(text, at, trusted_end, steps);
    if (match.end > at) matches.push_back(match);
    at = std::max(match.end, at + 1);
  }
  return matches;
}

}  // namespace takt::text
