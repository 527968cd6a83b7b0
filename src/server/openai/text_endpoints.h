// /tokenize, /detokenize and /apply-template, in llama-server's shapes. Pure: a body and text services in, a reply out.
#pragma once

#include <string_view>

#include "server/http/exchange.h"
#include "server/openai/backend.h"

namespace takt::server {

// {"content", "add_special" (false), "parse_special" (true), "with_pieces" (false)} → {"tokens": [id, …]}, or with pieces
// {"tokens": [{"id", "piece"}, …]}, where a piece that is no valid UTF-8 is a list of its bytes.
HttpReply tokenize(std::string_view body, const Backend& backend);
// {"tokens": [id, …]} → {"content": text}; bytes that are no valid UTF-8 become U+FFFD.
HttpReply detokenize(std::string_view body, const Backend& backend);
// {"messages", "tools", "chat_template_kwargs", …} → {"prompt": text}.
HttpReply apply_template(std::string_view body, const Backend& backend);

}  // namespace takt::server
