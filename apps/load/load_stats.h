// Figures of many replies. Every request that was sent counts: one that failed is never left out of a share, and its kind is told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "load/reply.h"

namespace takt::apps {

// What a reply must keep to be within limits. Absent: no limit.
struct LoadLimits {
  std::optional<base::Micros> ttft, itl_mean, gap_max;
  bool is_empty() const { return !ttft && !itl_mean && !gap_max; }
};

// "ttft=3s,itl=150ms,gap=1s". Errors: invalid_argument, naming the part.
base::Result<LoadLimits> parse_limits(const std::string& text);

// A reply together with what was asked for.
struct LoadRecord {
  Reply reply;
  uint32_t wanted_prompt_tokens = 0, wanted_output_tokens = 0;
};

struct WeightedValue {
  double value = 0, weight = 1;
};

// Percentiles by nearest rank: the least value that at least p per cent of the weight does not exceed.
struct Distribution {
  double weight = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
};
Distribution distribution_of(std::vector<WeightedValue> values);

struct LoadSummary {
  uint64_t requests = 0;                             // sent
  uint64_t answered = 0;                             // to the end, with at least one token
  std::map<std::string, uint64_t> errors;            // by kind
  std::map<std::string, std::string> error_example;  // one message of each kind
  double duration_s = 0;                             // first scheduled send to last end
  // Milliseconds.
  Distribution ttft, itl, itl_mean, gap_longest,
      end_to_end;          // itl: each token once; itl_mean and gap_longest: each request once
  Distribution sent_late;  // how long after its scheduled time the client sent a request
  double requests_per_s = 0, output_tokens_per_s = 0, prompt_tokens_per_s = 0;  // answered requests only
  uint64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  uint64_t without_usage = 0;  // answered, but the server did not say how many tokens: one a chunk assumed
  double prompt_length_error = 0, output_length_error = 0;  // mean of |got − wanted| ÷ wanted
  // Goodput: requests within all limits. An answer of one token has no gaps to judge.
  uint64_t within = 0, late_first = 0, slow = 0,
           stalled = 0;     // the last three: that broke this limit, perhaps among others
  double within_share = 0;  // of all that were sent
  double goodput_rps = 0;
};

LoadSummary summarise(const std::vector<LoadRecord>& records, const LoadLimits& limits);

}  // namespace takt::apps
