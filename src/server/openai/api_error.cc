#include "server/openai/api_error.h"

#include <algorithm>

#include "server/http/json_writer.h"

namespace takt::server {

namespace {

struct StatusRow {
  base::ErrorCode code;
  int status;
  const char* type;
};

// Types are llama-server's, which OpenAI clients show as they are. `unsupported` is 400 and not 501: the OpenAI packages try a 5xx
// again, which cannot help. `cancelled` is nginx's 499: nobody is there to read it, but logs and metrics are.
constexpr StatusRow kStatusTable[] = {
    {base::ErrorCode::invalid_argument, 400, "invalid_request_error"},
    {base::ErrorCode::invalid_file, 500, "server_error"},
    {base::ErrorCode::unsupported, 400, "not_supported_error"},
    {base::ErrorCode::not_found, 404, "not_found_error"},
    {base::ErrorCode::io, 500, "server_error"},
    {base::ErrorCode::out_of_memory, 503, "unavailable_error"},
    {base::ErrorCode::exceed_context_size, 400, "exceed_context_size_error"},
    {base::ErrorCode::template_error, 400, "invalid_request_error"},
    {base::ErrorCode::queue_full, 503, "unavailable_error"},
    {base::ErrorCode::limit_unreachable, 429, "rate_limit_error"},
    {base::ErrorCode::unauthorized, 401, "authentication_error"},
    {base::ErrorCode::cancelled, 499, "cancelled_error"},
    {base::ErrorCode::shutting_down, 503, "unavailable_error"},
    {base::ErrorCode::internal, 500, "server_error"},
};

}  // namespace

ApiError bad_field(std::string param, std::string message) {
  ApiError error;
  error.message = "'" + param + "' " + message;
  error.param = std::move(param);
  error.code = "invalid_value";
  return error;
}

ApiError to_api_error(const base::Error& error) {
  ApiError out;
  out.status = 500;
  out.type = "server_error";
  for (const StatusRow& row : kStatusTable) {
    if (row.code != error.code) continue;
    out.status = row.status;
    out.type = row.type;
  }
  out.code = std::string(base::name(error.code));
  out.message = error.message;
  out.retry_after_s = error.retry_after_s;
  return out;
}

std::string error_json(const ApiError& error) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.key("message").string(replace_invalid_utf8(error.message));
  json.key("type").string(error.type);
  json.key("param");
  error.param.empty() ? json.null() : json.string(replace_invalid_utf8(error.param));
  json.key("code");
  error.code.empty() ? json.null() : json.string(error.code);
  if (error.prompt_tokens) json.key("n_prompt_tokens").integer(*error.prompt_tokens);
  if (error.context_tokens) json.key("n_ctx").integer(*error.context_tokens);
  json.end_object().end_object();
  return json.take();
}

HttpReply error_reply(const ApiError& error) {
  HttpReply reply;
  reply.status = error.status;
  reply.body = error_json(error);
  if (error.status == 503 || error.status == 429)
    reply.headers.emplace_back("Retry-After", std::to_string(std::max<uint32_t>(error.retry_after_s, 1)));
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace takt::server
