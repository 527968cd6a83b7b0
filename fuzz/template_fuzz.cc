// Any bytes as a chat template: it renders or fails within its bounds, twice the same, and its segments are well formed.
// What follows a zero byte, if it is JSON, is the conversation.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/template/chat_template.h"
#include "text/template/value_json.h"

namespace {

using namespace takt;

constexpr std::string_view kConversation =
    R"({"messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "<|x|> h\u00e9 "},
        {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]}],
        "n": 7, "f": 2.5, "s": "Hello, World", "l": [3, 1, 2], "d": {"a": {"x": [1, 2]}, "items": 0}})";

void require(bool condition) {
  if (!condition) std::abort();
}

text::TemplateInputs make_inputs(std::string_view json) {
  text::TemplateInputs inputs;
  auto value = text::parse_template_value(json);
  if (!value.ok()) value = text::parse_template_value(kConversation);
  if (value->is_dict())
    inputs.extra = value->as_dict();
  else
    inputs.messages = *value;
  return inputs;
}

void check(const text::Rendered& rendered, const text::TemplateLimits& limits) {
  for (size_t i = 0; i < rendered.segments.size(); ++i) {
    require(!rendered.segments[i].text.empty());
    require(i == 0 || rendered.segments[i].from_user != rendered.segments[i - 1].from_user);
  }
  require(rendered.text().size() <= limits.output_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = bytes.find('\0');
  text::TemplateLimits limits;
  limits.source_bytes = 1 << 16;
  limits.output_bytes = 1 << 20;
  limits.live_bytes = 16 << 20;
  limits.steps = 100'000;
  const auto parsed = text::ChatTemplate::parse(std::string(bytes.substr(0, zero)), limits);
  if (!parsed.ok()) {
    require(!parsed.error().message.empty());
    return 0;
  }
  const text::TemplateInputs inputs = make_inputs(zero == std::string_view::npos ? "" : bytes.substr(zero + 1));
  const auto first = (*parsed)->render(inputs);
  const auto second = (*parsed)->render(inputs);
  require(first.ok() == second.ok());
  if (!first.ok()) {
    require(first.error().message == second.error().message);
    return 0;
  }
  check(*first, limits);
  require(first->segments == second->segments);
  return 0;
}
