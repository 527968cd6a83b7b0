// What a client saw of one request, and what that says about time to first token and the gaps between tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace takt::apps {

// A piece of the answer as it came off the socket.
struct ContentChunk {
  base::Micros at;
  // Tokens produced so far, this chunk's included, where the server says so in the chunk.
  std::optional<int64_t> tokens_total;
};

// All times count from the beginning of the run.
struct Reply {
  base::Micros scheduled;  // when the plan wanted it sent; every latency counts from here
  base::Micros sent;       // when the client really began to send it
  base::Micros ended;
  std::vector<ContentChunk> chunks;                                        // those with content only
  std::optional<int64_t> prompt_tokens, cached_tokens, completion_tokens;  // the server's own counts
  std::string text;
  std::string finish_reason;
  std::string error_kind;  // a short name to count by, such as "http 429"; empty: none
  std::string error;
  bool is_cancelled = false;  // by the client, on purpose

  // Not what went wrong, was cut short or gave no token at all.
  bool is_answered() const { return error_kind.empty() && !chunks.empty(); }
};

// Scheduled send to the first chunk that has content.
std::optional<base::Micros> ttft(const Reply& reply);

// A gap between two chunks, shared by the tokens that it brought.
struct TokenGap {
  double us_per_token = 0;
  double tokens = 0;
  base::Micros at;  // its end
};

// Where the server says with each chunk how many tokens there are, that is taken. Otherwise the tokens that the answer has
// beyond one a chunk (by its usage) are spread evenly over the gaps. Sum of us_per_token × tokens = last chunk − first chunk.
std::vector<TokenGap> token_gaps(const Reply& reply);

// (last token − first token) / (tokens − 1). Absent with fewer than two tokens: an answer of one token has no gaps, and none of 0.
std::optional<double> mean_itl_us(const Reply& reply);

// As a reader feels it: between two chunks, however many tokens the second one holds. Absent with fewer than two chunks.
std::optional<base::Micros> longest_gap(const Reply& reply);

}  // namespace takt::apps
