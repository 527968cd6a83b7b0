// How the web pages are sent.
#pragma once

#include <optional>
#include <string_view>

#include "server/http/exchange.h"

namespace takt::server {

// Whether everybody may read this path without an API key: the pages hold no data, they ask for it.
bool is_web_path(std::string_view path);

// The file at a path, or 304 when the reader has it already (`if_none_match`, the header of that name). Nothing: no such file.
std::optional<HttpReply> web_reply(std::string_view path, std::string_view if_none_match);

}  // namespace takt::server
