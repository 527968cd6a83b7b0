// The JSON of answers: whole replies and stream chunks of both endpoints. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/engine_port.h"
#include "contract/serving_port.h"
#include "server/http/json_writer.h"
#include "server/metrics/request_trace.h"
#include "server/openai/generation_request.h"

namespace takt::server {

// What every reply and every chunk of one request begins with.
struct ReplyHead {
  Endpoint endpoint = Endpoint::completions;
  std::string id;
  int64_t created = 0;
  std::string model;
  std::string fingerprint;  // the numerics version: equal fingerprint, model, request and seed give equal text
  uint64_t seed = 0;
  bool is_seed_negative = false;
};

using TokenBytes = std::function<std::string(contract::TokenId)>;

// Log-probabilities of some tokens, as one reply or one chunk shows them.
struct LogprobsView {
  const std::vector<contract::TokenOutput>& tokens;
  bool is_first_unknown = false;  // the first token begins the prompt: nothing predicted it
  size_t text_offset = 0;         // characters of the choice's text before the first token (completions)
};

// One choice of a reply, or what a chunk adds to it.
struct ChoiceView {
  size_t index = 0;
  std::string_view text;
  std::optional<LogprobsView> logprobs;
  contract::FinishReason finish = contract::FinishReason::none;  // none: written as null
  const contract::RequestTimes* timings = nullptr;               // may be null
  const RequestTrace* parts = nullptr;                           // what `timings` says besides; may be null
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;
};

// The `timings` object in llama-server's names, and `queue_ms` before them. Each phase has its own clock, and the three add up to the
// request's time in the server:
//   queue_ms      from submission to the first prefill chunk;
//   prompt_ms     from there to the end of the step that yielded the first output token; prompt_n counts the prompt tokens
//                 evaluated, cache_n those taken from the cache;
//   predicted_ms  from there to the end. predicted_n counts all output tokens, but the first is the prompt's own fruit: the rates
//                 are those of the other predicted_n - 1, and 0 when there is none (llama-server divides by n, which shows
//                 hundreds of tokens a second for an answer of one).
// With `parts`: also `end_to_end_us`, `phases_us` (they sum to it), `prefill_parts_us` and `decode_parts_us`, up to when the reply's
// end is written.
void write_timings(JsonWriter& json, const contract::RequestTimes& times, const RequestTrace* parts = nullptr);

// A whole reply.
std::string reply_json(const ReplyHead& head, const std::vector<ChoiceView>& choices, const Usage& usage,
                       const TokenBytes& token_bytes);
// "data: {…}\n\n" for each of these:
std::string role_chunk(const ReplyHead& head, size_t index, bool has_usage);
std::string choice_chunk(const ReplyHead& head, const ChoiceView& choice, bool has_usage,
                         const TokenBytes& token_bytes);
std::string usage_chunk(const ReplyHead& head, const Usage& usage);
std::string error_chunk(const ApiError& error);
inline constexpr std::string_view kDoneChunk = "data: [DONE]\n\n";

// Characters (code points) in text that may be cut anywhere: counts the bytes that begin one.
size_t character_count(std::string_view bytes);

}  // namespace takt::server
