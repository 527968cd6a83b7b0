// Bytes from the network to requests. The first byte chooses: the body of a completion, of a chat, or HTTP itself. The rules under
// test: no crash, no hang; an accepted request is within every bound; a refusal is a 400 (or HTTP's own code) in valid JSON; and
// HTTP parses the same in one piece and in many.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/request_parser.h"
#include "server/openai/generation_request.h"
#include "text/utf8.h"

namespace {

using namespace takt::server;

constexpr uint32_t kVocabularySize = 1000;
constexpr uint32_t kContextTokens = 512;

void require(bool is_true) {
  if (!is_true) std::abort();
}

void check_error(const ApiError& error) {
  require(error.status == 400 && !error.message.empty() && !error.type.empty());
  boost::json::error_code code;
  const boost::json::value value = boost::json::parse(error_json(error), code);
  require(!code && value.at("error").at("message").is_string());
}

void check_request(const GenerationRequest& request, const ApiLimits& limits) {
  const bool is_chat = request.endpoint == Endpoint::chat;
  require(is_chat == (request.chat_variables != nullptr) && is_chat == request.prompts.empty());
  require(request.choices_per_prompt >= 1);
  require((is_chat ? 1 : request.prompts.size()) * request.choices_per_prompt <= limits.choices_max);
  for (const Prompt& prompt : request.prompts) {
    if (const auto* ids = std::get_if<std::vector<takt::contract::TokenId>>(&prompt)) {
      for (const auto id : *ids) require(id >= 0 && id < static_cast<int32_t>(kVocabularySize));
    }
  }
  if (is_chat) require(request.chat_variables->at("messages").is_array());
  require(!request.output_tokens_max || *request.output_tokens_max >= 0);
  const takt::contract::Sampling& sampling = request.sampling;
  require(std::isfinite(sampling.temperature) && sampling.temperature >= 0);
  require(sampling.top_p > 0 && sampling.top_p <= 1 && sampling.min_p >= 0 && sampling.min_p <= 1);
  require(sampling.repeat_penalty > 0 && std::isfinite(sampling.repeat_penalty));
  require(std::fabs(sampling.frequency_penalty) <= 2 && std::fabs(sampling.presence_penalty) <= 2);
  require(sampling.logit_bias.size() <= limits.logit_bias_max);
  for (const auto& [id, bias] : sampling.logit_bias) {
    require(id >= 0 && id < static_cast<int32_t>(kVocabularySize) && !std::isnan(bias));
  }
  require(request.top_logprobs.value_or(0) <= limits.top_logprobs_max);
  require(request.stop_strings.size() <= limits.stop_count_max);
  for (const std::string& stop : request.stop_strings) {
    require(!stop.empty() && takt::text::utf8_valid_prefix(stop) == stop.size());
  }
}

void parse_body(std::string_view body, Endpoint endpoint) {
  const ApiLimits limits;
  GenerationRequest request;
  const auto error = parse_generation_request(body, endpoint, limits, kVocabularySize, kContextTokens, request);
  if (error) {
    check_error(*error);
  } else {
    check_request(request, limits);
  }
}

// What came of some bytes: a request, or a status, or nothing yet; and where its end is.
struct HttpOutcome {
  RequestParser::State state = RequestParser::State::head;
  int status = 0;
  size_t used = 0;
  std::string request;
  bool operator==(const HttpOutcome&) const = default;
};

HttpOutcome parse_http(std::string_view bytes, size_t piece) {
  ConnectionLimits limits;
  limits.head_bytes_max = 1024;
  limits.body_bytes_max = 2048;
  RequestParser parser(limits);
  HttpOutcome outcome;
  std::string input;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    input += bytes.substr(at, piece);
    const size_t used = parser.feed(input);
    require(used <= input.size());
    input.erase(0, used);
    outcome.used += used;
    outcome.state = parser.state();
    if (outcome.state == RequestParser::State::failed || outcome.state == RequestParser::State::complete) break;
  }
  if (outcome.state == RequestParser::State::failed) {
    outcome.status = parser.failure_status();
    outcome.used = 0;  // where it fails may depend on the pieces
    require(outcome.status >= 400 && !parser.failure_reason().empty());
  } else if (outcome.state == RequestParser::State::complete) {
    const HttpRequest request = parser.take();
    require(request.body.size() <= limits.body_bytes_max);
    outcome.request = request.method + ' ' + request.path + '?' + request.query + '\n';
    for (const auto& [name, value] : request.headers) outcome.request += name + ':' + value + '\n';
    outcome.request += request.body;
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: parse_body(rest, Endpoint::completions); break;
    case 1: parse_body(rest, Endpoint::chat); break;
    default: {
      const HttpOutcome whole = parse_http(rest, rest.size() + 1);
      const HttpOutcome pieces = parse_http(rest, 1 + data[0] / 3 % 16);
      // A complete request is the same either way, but for limits, which may be met earlier in pieces. What is refused may be
      // refused earlier in one piece: in several the parser waits for the head's end.
      const bool is_limit = whole.status == 413 || whole.status == 431 || pieces.status == 413 || pieces.status == 431;
      const auto is_complete = [](const HttpOutcome& outcome) {
        return outcome.state == RequestParser::State::complete;
      };
      require(is_limit || is_complete(whole) == is_complete(pieces));
      if (is_complete(whole) && is_complete(pieces)) require(whole == pieces);
    }
  }
  return 0;
}
