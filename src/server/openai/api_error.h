// Errors as HTTP replies in OpenAI's shape. The only place where an error gets a status code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "server/http/exchange.h"

namespace takt::server {

struct ApiError {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string message;
  std::string param;  // the field, as a path ("messages[2].content"); empty: none
  std::string code;   // a stable snake_case name; empty: none
  // With exceed_context_size, in llama-server's names.
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> context_tokens;
  uint32_t retry_after_s = 0;  // with 429 and 503; 0: one second
};

// 400 naming a field of the request.
ApiError bad_field(std::string param, std::string message);
// The table ErrorCode → status and type.
ApiError to_api_error(const base::Error& error);

// {"error":{"message","type","param","code"}}; llama-server's n_prompt_tokens and n_ctx where set.
std::string error_json(const ApiError& error);
// With Retry-After where trying again makes sense.
HttpReply error_reply(const ApiError& error);

}  // namespace takt::server
