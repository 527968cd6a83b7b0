// The JSON half of load_client.h.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "load/load_client.h"

namespace takt::apps {

namespace json = boost::json;

std::string request_body(const LoadTarget& target, const LoadRequest& request) {
  json::object body;
  body["model"] = target.model;
  if (target.is_chat) {
    json::array messages;
    for (size_t i = 0; i < request.messages.size(); ++i)
      messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", request.messages[i]}});
    body["messages"] = std::move(messages);
  } else {
    std::string prompt;
    for (const std::string& message : request.messages) prompt += message;
    body["prompt"] = prompt;
  }
  body["max_tokens"] = request.output_tokens;
  body["temperature"] = 0;
  body["stream"] = true;
  json::object stream_options{{"include_usage", true}};
  if (!target.is_plain) {
    body["ignore_eos"] = true;                        // an answer is as long as the plan says
    body["timings_per_token"] = true;                 // llama-server: how many tokens there are by now
    stream_options["continuous_usage_stats"] = true;  // vLLM: the same
  }
  body["stream_options"] = std::move(stream_options);
  if (!target.is_plain && !request.service_class.empty()) body["service_class"] = request.service_class;
  return json::serialize(body);
}

}  // namespace takt::apps
