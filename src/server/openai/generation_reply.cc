#include "server/openai/generation_reply.h"

#include <algorithm>

#include "server/metrics/live_json.h"
#include "text/utf8.h"

namespace takt::server {

namespace {

using contract::FinishReason;
using contract::TokenOutput;

void write_head(JsonWriter& json, const ReplyHead& head, bool is_chunk) {
  json.key("id").string(head.id);
  const bool is_chat = head.endpoint == Endpoint::chat;
  json.key("object").string(!is_chat ? "text_completion" : is_chunk ? "chat.completion.chunk" : "chat.completion");
  json.key("created").integer(head.created);
  json.key("model").string(head.model);
  json.key("system_fingerprint").string(head.fingerprint);
}

void write_seed(JsonWriter& json, const ReplyHead& head) {
  json.key("seed");
  head.is_seed_negative ? json.integer(static_cast<int64_t>(head.seed)) : json.unsigned_integer(head.seed);
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object();
  json.key("prompt_tokens").integer(usage.prompt_tokens);
  json.key("completion_tokens").integer(usage.completion_tokens);
  json.key("total_tokens").integer(usage.prompt_tokens + usage.completion_tokens);
  json.key("prompt_tokens_details").begin_object().key("cached_tokens").integer(usage.cached_tokens).end_object();
  json.end_object();
}

void write_finish(JsonWriter& json, FinishReason finish) {
  json.key("finish_reason");
  finish == FinishReason::none ? json.null() : json.string(contract::name(finish));
}

// ---- log-probabilities

// A token's name among others must be unique: bytes that are no text are spelt out, as OpenAI's completions do.
std::string token_name(const std::string& bytes) {
  if (text::utf8_valid_prefix(bytes) == bytes.size()) return bytes;
  std::string name = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    name += "\\x";
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

void write_chat_token(JsonWriter& json, contract::TokenId id, float logprob, const TokenBytes& token_bytes) {
  const std::string bytes = token_bytes(id);
  json.key("id").integer(id);
  json.key("token").string(replace_invalid_utf8(bytes));
  json.key("logprob").number(logprob);
  json.key("bytes").begin_array();
  for (const char c : bytes) json.integer(static_cast<unsigned char>(c));
  json.end_array();
}

void write_chat_logprobs(JsonWriter& json, const LogprobsView& view, const TokenBytes& token_bytes) {
  json.begin_object().key("content").begin_array();
  for (const TokenOutput& token : view.tokens) {
    json.begin_object();
    write_chat_token(json, token.id, token.logprob, token_bytes);
    json.key("top_logprobs").begin_array();
    for (const contract::TokenLogprob& top : token.top) {
      json.begin_object();
      write_chat_token(json, top.id, top.logprob, token_bytes);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("refusal").null().end_object();
}

// The chosen token is always among its own top_logprobs, as with OpenAI.
void write_top_map(JsonWriter& json, const TokenOutput& token, const TokenBytes& token_bytes) {
  json.begin_object();
  bool has_chosen = false;
  for (const contract::TokenLogprob& top : token.top) {
    json.key(token_name(token_bytes(top.id))).number(top.logprob);
    has_chosen = has_chosen || top.id == token.id;
  }
  if (!has_chosen) json.key(token_name(token_bytes(token.id))).number(token.logprob);
  json.end_object();
}

void write_completion_logprobs(JsonWriter& json, const LogprobsView& view, const TokenBytes& token_bytes) {
  const auto is_unknown = [&view](size_t i) { return i == 0 && view.is_first_unknown; };
  json.begin_object().key("tokens").begin_array();
  for (const TokenOutput& token : view.tokens) json.string(token_name(token_bytes(token.id)));
  json.end_array().key("token_logprobs").begin_array();
  for (size_t i = 0; i < view.tokens.size(); ++i) {
    is_unknown(i) ? json.null() : json.number(view.tokens[i].logprob);
  }
  json.end_array().key("top_logprobs").begin_array();
  for (size_t i = 0; i < view.tokens.size(); ++i) {
    if (is_unknown(i)) {
      json.null();
    } else {
      write_top_map(json, view.tokens[i], token_bytes);
    }
  }
  json.end_array().key("text_offset").begin_array();
  size_t offset = view.text_offset;
  for (const TokenOutput& token : view.tokens) {
    json.unsigned_integer(offset);
    offset += character_count(token_bytes(token.id));
  }
  json.end_array().end_object();
}

void write_logprobs(JsonWriter& json, Endpoint endpoint, const ChoiceView& choice, const TokenBytes& token_bytes) {
  json.key("logprobs");
  if (!choice.logprobs) {
    json.null();
  } else if (endpoint == Endpoint::chat) {
    write_chat_logprobs(json, *choice.logprobs, token_bytes);
  } else {
    write_completion_logprobs(json, *choice.logprobs, token_bytes);
  }
}

std::string as_event(std::string data) { return "data: " + std::move(data) + "\n\n"; }

// `usage` is null in every chunk but the last when the client asked for it, as OpenAI has it.
std::string finish_chunk(JsonWriter& json, bool has_usage) {
  if (has_usage) json.key("usage").null();
  json.end_object();
  return as_event(json.take());
}

}  // namespace

size_t character_count(std::string_view bytes) {
  return static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void write_timings(JsonWriter& json, const contract::RequestTimes& times, const RequestTrace* parts) {
  const int64_t submitted = times.submitted.count();
  const int64_t finished = times.finished ? times.finished->count() : submitted;
  const int64_t scheduled = times.first_scheduled ? times.first_scheduled->count() : finished;
  const int64_t first_token = times.first_token ? times.first_token->count() : finished;
  const auto write_phase = [&json](const std::string& prefix, int64_t count, int64_t rate_count, int64_t micros) {
    const double ms = static_cast<double>(micros) / 1e3;
    const bool has_rate = rate_count > 0 && micros > 0;
    json.key(prefix + "_n").integer(count);
    json.key(prefix + "_ms").number(ms);
    json.key(prefix + "_per_token_ms").number(has_rate ? ms / static_cast<double>(rate_count) : 0.0);
    json.key(prefix + "_per_second").number(has_rate ? 1e3 * static_cast<double>(rate_count) / ms : 0.0);
  };
  const int64_t prompt_count = times.prompt_tokens.count() - times.prompt_tokens_cached.count();
  json.begin_object();
  json.key("queue_ms").number(static_cast<double>(scheduled - submitted) / 1e3);
  json.key("cache_n").integer(times.prompt_tokens_cached.count());
  write_phase("prompt", prompt_count, prompt_count, first_token - scheduled);
  write_phase("predicted", times.output_tokens.count(), times.output_tokens.count() - 1, finished - first_token);
  // (llama-server's "predicted" is what was produced. These two were foretold.)
  if (times.predicted_ttft)
    json.key("predicted_ttft_ms").number(static_cast<double>(times.predicted_ttft->count()) / 1e3);
  if (times.predicted_finish)
    json.key("predicted_finish_ms").number(static_cast<double>(times.predicted_finish->count()) / 1e3);
  if (parts != nullptr) write_phase_fields(json, *parts, parts->delivered_last);
  json.end_object();
}

std::string reply_json(const ReplyHead& head, const std::vector<ChoiceView>& choices, const Usage& usage,
                       const TokenBytes& token_bytes) {
  JsonWriter json;
  json.begin_object();
  write_head(json, head, false);
  json.key("choices").begin_array();
  for (const ChoiceView& choice : choices) {
    json.begin_object().key("index").unsigned_integer(choice.index);
    if (head.endpoint == Endpoint::chat) {
      json.key("message")
          .begin_object()
          .key("role")
          .string("assistant")
          .key("content")
          .string(choice.text)
          .end_object();
    } else {
      json.key("text").string(choice.text);
    }
    write_logprobs(json, head.endpoint, choice, token_bytes);
    write_finish(json, choice.finish);
    if (choices.size() > 1 && choice.timings != nullptr)
      write_timings(json.key("timings"), *choice.timings, choice.parts);
    json.end_object();
  }
  json.end_array();
  write_usage(json, usage);
  write_seed(json, head);
  if (choices.size() == 1 && choices[0].timings != nullptr)
    write_timings(json.key("timings"), *choices[0].timings, choices[0].parts);
  json.end_object();
  return json.take();
}

std::string role_chunk(const ReplyHead& head, size_t index, bool has_usage) {
  JsonWriter json;
  json.begin_object();
  write_head(json, head, true);
  json.key("choices").begin_array().begin_object().key("index").unsigned_integer(index);
  json.key("delta").begin_object().key("role").string("assistant").key("content").string("").end_object();
  json.key("logprobs").null();
  write_finish(json, FinishReason::none);
  json.end_object().end_array();
  return finish_chunk(json, has_usage);
}

std::string choice_chunk(const ReplyHead& head, const ChoiceView& choice, bool has_usage,
                         const TokenBytes& token_bytes) {
  JsonWriter json;
  json.begin_object();
  write_head(json, head, true);
  json.key("choices").begin_array().begin_object().key("index").unsigned_integer(choice.index);
  if (head.endpoint == Endpoint::chat) {
    json.key("delta").begin_object();
    if (!choice.text.empty()) json.key("content").string(choice.text);
    json.end_object();
  } else {
    json.key("text").string(choice.text);
  }
  write_logprobs(json, head.endpoint, choice, token_bytes);
  write_finish(json, choice.finish);
  json.end_object().end_array();
  if (choice.finish != FinishReason::none) write_seed(json, head);
  if (choice.timings != nullptr) write_timings(json.key("timings"), *choice.timings, choice.parts);
  return finish_chunk(json, has_usage);
}

std::string usage_chunk(const ReplyHead& head, const Usage& usage) {
  JsonWriter json;
  json.begin_object();
  write_head(json, head, true);
  json.key("choices").begin_array().end_array();
  write_usage(json, usage);
  json.end_object();
  return as_event(json.take());
}

std::string error_chunk(const ApiError& error) { return as_event(error_json(error)); }

}  // namespace takt::server
