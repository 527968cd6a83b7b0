#include "load/reply.h"

#include <algorithm>

namespace takt::apps {
namespace {

bool has_counts(const Reply& reply) {
  for (size_t i = 0; i < reply.chunks.size(); ++i) {
    const auto& total = reply.chunks[i].tokens_total;
    if (!total || *total < 1) return false;
    if (i > 0 && *total <= *reply.chunks[i - 1].tokens_total) return false;
  }
  return true;
}

}  // namespace

std::optional<base::Micros> ttft(const Reply& reply) {
  if (reply.chunks.empty()) return {};
  return reply.chunks.front().at - reply.scheduled;
}

std::vector<TokenGap> token_gaps(const Reply& reply) {
  std::vector<TokenGap> gaps;
  if (reply.chunks.size() < 2) return gaps;
  const bool is_counted = has_counts(reply);
  const auto gap_count = static_cast<double>(reply.chunks.size() - 1);
  // A character that ends a token later makes two tokens one chunk; several tokens of one step do as well.
  const double spread = std::max(1.0, static_cast<double>(reply.completion_tokens.value_or(0) - 1) / gap_count);
  for (size_t i = 1; i < reply.chunks.size(); ++i) {
    const ContentChunk &before = reply.chunks[i - 1], &after = reply.chunks[i];
    TokenGap gap;
    gap.tokens = is_counted ? static_cast<double>(*after.tokens_total - *before.tokens_total) : spread;
    gap.us_per_token = static_cast<double>((after.at - before.at).count()) / gap.tokens;
    gap.at = after.at;
    gaps.push_back(gap);
  }
  return gaps;
}

std::optional<double> mean_itl_us(const Reply& reply) {
  double us = 0, tokens = 0;
  for (const TokenGap& gap : token_gaps(reply)) {
    us += gap.us_per_token * gap.tokens;
    tokens += gap.tokens;
  }
  if (tokens == 0) return {};
  return us / tokens;
}

std::optional<base::Micros> longest_gap(const Reply& reply) {
  if (reply.chunks.size() < 2) return {};
  base::Micros longest;
  for (size_t i = 1; i < reply.chunks.size(); ++i)
    longest = std::max(longest, reply.chunks[i].at - reply.chunks[i - 1].at);
  return longest;
}

}  // namespace takt::apps
