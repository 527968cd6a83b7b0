// The fields of /v1/chat/completions and /apply-template that a chat template sees.
#pragma once

#include <boost/json/object.hpp>

#include "server/openai/fields.h"

namespace takt::server {

// The template's variables: "messages", "tools" (when given and tool_choice is not "none"), "add_generation_prompt" (true unless the
// request says otherwise) and everything in chat_template_kwargs, which cannot replace the former. Each message must be an object
// with a role. Changed on the way: a list of text parts becomes one string, joined by line ends, and a tool call's arguments that
// are a JSON object in a string become that object, because published templates expect both. Errors go to the reader.
boost::json::object read_chat(FieldReader& reader);

}  // namespace takt::server
