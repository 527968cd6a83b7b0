// One request's life as the server keeps it for a while: its times, and where each gap between its outputs went.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/serving_port.h"

namespace takt::server {

enum class RequestState : uint8_t { waiting, prefilling, decoding, preempted, writing, finished };
std::string_view name(RequestState state);

enum class RequestPhase : uint8_t {
  prepare,  // from its last byte read to its submission: JSON, template, tokenising
  load,     // the model was being loaded
  queue,    // from there to its first prompt chunk
  prefill,  // to its first output token
  decode,   // to its last one
  write,    // to its last byte handed to the network
};
inline constexpr size_t kRequestPhaseCount = 6;
std::string_view name(RequestPhase phase);

struct RequestFacts {
  contract::RequestId id;
  std::string public_id;  // x-request-id; with "#index" behind it for a further choice
  std::string endpoint;
  contract::ServiceClass service_class = contract::ServiceClass::interactive;
  base::Micros received;
  std::string trace_parent;  // the header `traceparent`, as sent
};

struct RequestTrace {
  struct Output {
    base::Micros delivered;               // by the loop
    std::optional<base::Micros> written;  // handed to the network; nothing where the reply is written as a whole
    uint32_t tokens = 0;
    contract::TimeParts parts;  // since the output before
  };
  RequestFacts facts;
  contract::RequestTimes times;
  RequestState state = RequestState::waiting;
  contract::FinishReason finish = contract::FinishReason::none;
  uint32_t prompt_tokens_done = 0;
  std::deque<Output> outputs;
  uint64_t outputs_skipped = 0;  // older ones that are not kept
  uint64_t tokens_skipped = 0;   // of those
  uint64_t tokens_written = 0;
  base::Micros delivered_last;                      // when the newest output was delivered; at first: submitted
  base::Micros gap_max;                             // between delivered outputs
  std::optional<base::Micros> written_all;          // the reply is complete, or its reader gone
  contract::TimeParts unshown;                      // of outputs without tokens: they belong to the next one with some
  contract::TimeParts prefill_parts, decode_parts;  // up to the first token, and behind it
  uint64_t changed = 0;                             // LiveBoard's count at the last change

  void add_output(const contract::RequestOutput& output, const contract::RequestTimes& output_times);
  // The first `tokens` output tokens are with the network.
  void note_written(uint64_t tokens, base::Micros now);
  void note_closed(base::Micros now);
};

// They sum to end_to_end(): from the request's last byte read to its reply's last byte written, or to `now` while it lives.
std::array<base::Micros, kRequestPhaseCount> phases_of(const RequestTrace& trace, base::Micros now);
base::Micros end_to_end(const RequestTrace& trace, base::Micros now);

// One output and the time since the one before, as the reader saw them; the first one's is since submission.
struct TokenGap {
  uint64_t token = 0;  // the output's first one, counted from 0
  base::Micros at, gap;
  contract::TimeParts parts;  // sum to gap
};
std::vector<TokenGap> gaps_of(const RequestTrace& trace);

// The longest gaps in words, the longest first; and the first token when it took long. At most three sentences.
using PublicId = std::function<std::string(contract::RequestId)>;
std::vector<std::string> words_of(const std::vector<TokenGap>& gaps, const PublicId& public_id);

}  // namespace takt::server
