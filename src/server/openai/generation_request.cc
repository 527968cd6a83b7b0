#include "server/openai/generation_request.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <limits>

#include "contract/service_class.h"
#include "server/openai/chat_fields.h"
#include "server/openai/fields.h"
#include "server/openai/sampling_fields.h"

namespace takt::server {

namespace json = boost::json;

namespace {

using TokenIds = std::vector<contract::TokenId>;

std::string to_std(const json::string& text) { return {text.data(), text.size()}; }

// A list of token ids, or nothing when an element is something else.
std::optional<TokenIds> read_token_ids(const json::array& list, uint32_t vocabulary_size) {
  TokenIds ids;
  ids.reserve(list.size());
  for (const json::value& value : list) {
    const std::optional<int64_t> id = as_integer(value);
    if (!id || *id < 0 || *id >= static_cast<int64_t>(vocabulary_size)) return std::nullopt;
    ids.push_back(static_cast<contract::TokenId>(*id));
  }
  return ids;
}

// One string, one list of token ids, or a list of either.
void read_prompts(FieldReader& reader, const ApiLimits& limits, uint32_t vocabulary_size, std::vector<Prompt>& out) {
  const json::value* value = reader.find("prompt");
  if (value == nullptr) return reader.fail("prompt", "is missing");
  if (value->is_string()) return static_cast<void>(out.emplace_back(to_std(value->get_string())));
  if (!value->is_array()) return reader.fail("prompt", "must be a string, a list of token ids, or a list of these");
  const json::array& list = value->get_array();
  if (list.empty()) return reader.fail("prompt", "must not be empty");
  const std::string range = "token ids from 0 to " + std::to_string(int64_t{vocabulary_size} - 1);
  if (list.front().is_number()) {
    std::optional<TokenIds> ids = read_token_ids(list, vocabulary_size);
    if (!ids) return reader.fail("prompt", "must be a list of " + range);
    out.emplace_back(std::move(*ids));
    return;
  }
  if (list.size() > limits.choices_max) {
    return reader.fail("prompt", "may hold at most " + std::to_string(limits.choices_max) + " prompts");
  }
  for (const json::value& element : list) {
    if (element.is_string()) {
      out.emplace_back(to_std(element.get_string()));
      continue;
    }
    std::optional<TokenIds> ids;
    if (element.is_array()) ids = read_token_ids(element.get_array(), vocabulary_size);
    if (!ids) return reader.fail("prompt", "must be a list of strings or of lists of " + range);
    out.emplace_back(std::move(*ids));
  }
}

// -1: no limit but the context. The newest name wins.
void read_output_limit(FieldReader& reader, GenerationRequest& out) {
  constexpr int64_t kMax = int64_t{1} << 53;
  for (const char* name : {"n_predict", "max_tokens", "max_completion_tokens"}) {
    const std::optional<int64_t> value = reader.integer(name, -1, kMax);
    if (value) out.output_tokens_max = *value < 0 ? std::nullopt : value;
  }
}

void read_stop(FieldReader& reader, const ApiLimits& limits, std::vector<std::string>& out) {
  const json::value* value = reader.find("stop");
  if (value == nullptr) return;
  if (!value->is_string() && !value->is_array()) return reader.fail("stop", "must be a string or a list of strings");
  size_t bytes = 0;
  const auto add = [&](const json::value& element) {
    if (!element.is_string()) return reader.fail("stop", "must be a string or a list of strings");
    bytes += element.get_string().size();
    if (!element.get_string().empty()) out.push_back(to_std(element.get_string()));
  };
  if (value->is_string()) {
    add(*value);
  } else if (value->get_array().size() > limits.stop_count_max) {
    reader.fail("stop", "may hold at most " + std::to_string(limits.stop_count_max) + " strings");
  } else {
    for (const json::value& element : value->get_array()) add(element);
  }
  if (bytes > limits.stop_bytes_max) {
    reader.fail("stop", "may hold at most " + std::to_string(limits.stop_bytes_max) + " bytes in all");
  }
}

// Completions: `logprobs` is the number of best tokens. Chat: `logprobs` switches them on, `top_logprobs` is the number.
void read_logprobs(FieldReader& reader, const ApiLimits& limits, GenerationRequest& out) {
  std::optional<int64_t> count;
  if (out.endpoint == Endpoint::completions) {
    count = reader.integer("logprobs", 0, limits.top_logprobs_max);
  } else {
    const bool is_on = reader.boolean("logprobs").value_or(false);
    count = reader.integer("top_logprobs", 0, limits.top_logprobs_max);
    if (!is_on && count.value_or(0) > 0) reader.fail("top_logprobs", "needs 'logprobs' to be true");
    if (is_on && !count) count = 0;
    if (!is_on) count.reset();
  }
  if (count) out.top_logprobs = static_cast<uint32_t>(*count);
}

void read_stream(FieldReader& reader, std::optional<ApiError>& error, GenerationRequest& out) {
  out.stream = reader.boolean("stream").value_or(false);
  if (const json::object* options = reader.object("stream_options")) {
    FieldReader option_reader(*options, error, "stream_options");
    out.include_usage = option_reader.boolean("include_usage").value_or(false);
  }
}

// The longest that a client may ask us to wait for it: a day.
constexpr double kTimeoutSecondsMax = 86'400;

void read_timeout(FieldReader& reader, GenerationRequest& out) {
  const auto seconds = reader.number("timeout", 0.001, kTimeoutSecondsMax);
  if (seconds) out.timeout = std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
}

// `service_class` is ours; OpenAI's `service_tier` maps where it means something here: "flex" is cheap and late, "priority"
// is not; "auto" and "default" leave it to the key.
void read_service_class(FieldReader& reader, GenerationRequest& out) {
  using contract::ServiceClass;
  const auto tier = reader.string("service_tier");
  if (tier == "flex") out.service_class = ServiceClass::batch;
  if (tier == "priority") out.service_class = ServiceClass::interactive;
  const auto wanted = reader.string("service_class");
  if (!wanted) return;
  const auto service_class = contract::try_service_class(*wanted);
  if (service_class) {
    out.service_class = *service_class;
    return;
  }
  reader.fail("service_class", "must be \"interactive\", \"batch\" or \"background\"");
}

// Fields that would change the answer and are not implemented: saying so beats an answer to another question.
void refuse_unsupported(FieldReader& reader, std::optional<ApiError>& error, const GenerationRequest& request) {
  const auto refuse = [&](const char* field, const std::string& what) {
    reader.fail(field, what + " is not supported yet");
  };
  if (const json::object* format = reader.object("response_format")) {
    FieldReader format_reader(*format, error, "response_format");
    const auto type = format_reader.string("type");
    if (type && *type != "text")
      format_reader.fail("type", "may only be \"text\": constrained output is not supported yet");
  }
  for (const char* field : {"grammar", "json_schema"}) {
    const json::value* value = reader.find(field);
    if (value == nullptr || (value->is_string() && value->get_string().empty())) continue;
    refuse(field, "constrained output");
  }
  if (request.endpoint != Endpoint::completions) return;
  if (const auto suffix = reader.string("suffix"); suffix && !suffix->empty())
    refuse("suffix", "text behind the answer");
  const auto best_of = reader.integer("best_of", 1, std::numeric_limits<int32_t>::max());
  if (best_of && *best_of > request.choices_per_prompt) refuse("best_of", "choosing the best of more answers than n");
}

}  // namespace

std::string_view name(Endpoint endpoint) { return endpoint == Endpoint::chat ? "chat" : "completions"; }

std::optional<ApiError> parse_generation_request(std::string_view body, Endpoint endpoint, const ApiLimits& limits,
                                                 uint32_t vocabulary_size, uint32_t context_tokens,
                                                 GenerationRequest& out) {
  std::optional<ApiError> error;
  const json::value document = parse_json_object(body, error);
  if (error) return error;
  FieldReader reader(document.get_object(), error);
  out = GenerationRequest{};
  out.endpoint = endpoint;
  out.model = std::string(reader.string("model").value_or(""));
  if (endpoint == Endpoint::chat) {
    out.chat_variables = std::make_shared<const json::object>(read_chat(reader));
  } else {
    read_prompts(reader, limits, vocabulary_size, out.prompts);
    out.echo = reader.boolean("echo").value_or(false);
  }
  const size_t prompt_count = endpoint == Endpoint::chat ? 1 : out.prompts.size();
  out.choices_per_prompt = static_cast<uint32_t>(reader.integer("n", 1, limits.choices_max).value_or(1));
  if (prompt_count * out.choices_per_prompt > limits.choices_max) {
    reader.fail("n", "times the number of prompts may be at most " + std::to_string(limits.choices_max));
  }
  read_output_limit(reader, out);
  read_sampling(reader, limits, vocabulary_size, context_tokens, out);
  read_stop(reader, limits, out.stop_strings);
  out.ignore_eos = reader.boolean("ignore_eos").value_or(false);
  out.cache_prompt = reader.boolean("cache_prompt").value_or(true);
  read_logprobs(reader, limits, out);
  read_stream(reader, error, out);
  out.has_timing_parts = reader.boolean("timings").value_or(false);
  read_service_class(reader, out);
  read_timeout(reader, out);
  refuse_unsupported(reader, error, out);
  reader.string("user");
  return error;
}

}  // namespace takt::server
