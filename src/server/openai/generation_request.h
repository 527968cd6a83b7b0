// What a client asks for: /v1/completions and /v1/chat/completions as one structure.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "contract/generation.h"
#include "contract/request.h"
#include "server/openai/api_error.h"

namespace takt::server {

enum class Endpoint { completions, chat };
std::string_view name(Endpoint endpoint);

// Bounds on one request. The vocabulary and the context are the model's.
struct ApiLimits {
  uint32_t choices_max = 128;  // prompts times n: each choice is a request of its own in the queue
  uint32_t stop_count_max = 1024;
  size_t stop_bytes_max = size_t{8} << 10;  // of all stop strings together; a request keeps about 100 times as much
  uint32_t top_logprobs_max = 20;           // OpenAI's bound
  uint32_t logit_bias_max = 4096;
};

// Text, or token ids.
using Prompt = std::variant<std::string, std::vector<contract::TokenId>>;

struct GenerationRequest {
  Endpoint endpoint = Endpoint::completions;
  std::string model;            // as asked; empty: not given
  std::vector<Prompt> prompts;  // completions: at least one
  // Chat: what the template sees, see read_chat().
  std::shared_ptr<const boost::json::object> chat_variables;

  uint32_t choices_per_prompt = 1;
  std::optional<int64_t> output_tokens_max;  // nothing: as many as the context holds
  contract::Sampling sampling;               // choice_index stays 0
  bool is_seed_negative = false;             // the reply shows the seed as it came
  std::optional<uint32_t> top_logprobs;
  std::vector<std::string> stop_strings;
  bool ignore_eos = false;
  bool echo = false;  // completions: the reply begins with the prompt
  bool stream = false;
  bool has_timing_parts = false;                        // the reply's timings say where the time went
  bool include_usage = false;                           // in a stream
  bool cache_prompt = true;                             // false: evaluate the whole prompt, whatever is cached
  std::optional<contract::ServiceClass> service_class;  // nothing: the API key's
  std::optional<std::chrono::milliseconds> timeout;     // from when the request was read; then it is cancelled
};

// Reads a request body. Fields not known are ignored, null counts as absent. Returns the first error, which names its field, or
// nothing. Defaults are llama-server's: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, no limit on the output but the context.
// A missing seed (or -1) is drawn at random.
std::optional<ApiError> parse_generation_request(std::string_view body, Endpoint endpoint, const ApiLimits& limits,
                                                 uint32_t vocabulary_size, uint32_t context_tokens,
                                                 GenerationRequest& out);

}  // namespace takt::server
