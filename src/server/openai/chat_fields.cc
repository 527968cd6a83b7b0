#include "server/openai/chat_fields.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>

namespace takt::server {

namespace json = boost::json;

namespace {

// The parts of a message's content as one string. Errors: anything but text.
json::value join_parts(const json::array& parts, FieldReader& message) {
  json::string text;
  for (const json::value& part : parts) {
    const json::object* object = part.if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    const json::value* part_text = object == nullptr ? nullptr : object->if_contains("text");
    if (type == nullptr || !type->is_string()) {
      message.fail("content", "must be a string or a list of parts with a type");
      return nullptr;
    }
    if (type->get_string() != "text" || part_text == nullptr || !part_text->is_string()) {
      message.fail("content", "may have parts {\"type\": \"text\", \"text\": …} only: this model reads text");
      return nullptr;
    }
    if (!text.empty()) text += '\n';
    text += part_text->get_string();
  }
  return text;
}

void expand_tool_arguments(json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  if (calls == nullptr || !calls->is_array()) return;
  for (json::value& call : calls->get_array()) {
    json::value* function = call.is_object() ? call.get_object().if_contains("function") : nullptr;
    json::value* arguments =
        function != nullptr && function->is_object() ? function->get_object().if_contains("arguments") : nullptr;
    if (arguments == nullptr || !arguments->is_string()) continue;
    json::parse_options options;
    options.max_depth = kJsonDepthMax / 2;  // it hangs below the message
    json::error_code error;
    json::value parsed = json::parse(arguments->get_string(), error, {}, options);
    if (!error && parsed.is_object()) *arguments = std::move(parsed);
  }
}

json::value read_message(const json::value& value, FieldReader& reader, const std::string& name,
                         std::optional<ApiError>& error) {
  if (!value.is_object()) {
    reader.fail(name, "must be an object");
    return nullptr;
  }
  json::object out = value.get_object();
  FieldReader message(value.get_object(), error, name);
  if (message.find("role") == nullptr) message.fail("role", "is missing");
  message.string("role");
  if (const json::value* content = message.find("content")) {
    if (content->is_array()) {
      out["content"] = join_parts(content->get_array(), message);
    } else {
      message.string("content");
    }
  } else if (out.contains("content")) {
    out["content"] = "";  // null, as beside tool calls: many templates join it to a string
  }
  message.array("tool_calls");
  expand_tool_arguments(out);
  return out;
}

void read_tools(FieldReader& reader, json::object& variables) {
  const json::array* tools = reader.array("tools");
  bool is_wanted = true;
  if (const json::value* choice = reader.find("tool_choice")) {
    const bool is_auto = choice->is_string() && choice->get_string() == "auto";
    is_wanted = !(choice->is_string() && choice->get_string() == "none");
    if (is_wanted && !is_auto) {
      reader.fail("tool_choice", "may be \"auto\" or \"none\": forcing a tool call is not supported yet");
    }
  }
  if (tools == nullptr || tools->empty() || !is_wanted) return;
  for (const json::value& tool : *tools) {
    if (!tool.is_object()) return reader.fail("tools", "must be a list of objects");
  }
  variables["tools"] = *tools;
}

}  // namespace

json::object read_chat(FieldReader& reader) {
  json::object variables;
  std::optional<ApiError> error;
  if (const json::object* given = reader.object("chat_template_kwargs")) variables = *given;
  const json::array* messages = reader.array("messages");
  if (messages == nullptr || messages->empty()) {
    reader.fail("messages", messages == nullptr ? "is missing" : "must not be empty");
    return variables;
  }
  json::array list;
  list.reserve(messages->size());
  for (const json::value& message : *messages) {
    list.push_back(read_message(message, reader, "messages[" + std::to_string(list.size()) + "]", error));
    if (error) reader.fail_with(*error);
    if (reader.has_failed()) return variables;
  }
  variables["messages"] = std::move(list);
  variables.erase("tools");
  read_tools(reader, variables);
  variables["add_generation_prompt"] = reader.boolean("add_generation_prompt").value_or(true);
  return variables;
}

}  // namespace takt::server
