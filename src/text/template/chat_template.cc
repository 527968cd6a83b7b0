#include "text/template/chat_template.h"

#include <new>

#include "text/template/interpreter.h"
#include "text/template/parser.h"
#include "text/template/unicode.h"

namespace takt::text {
namespace {

using jinja::Budget;
using jinja::TemplateFailure;

base::Error to_error(const TemplateFailure& failure, int line) {
  if (failure.raised) return {base::ErrorCode::template_error, failure.message};
  const int at = failure.line > 0 ? failure.line : line;
  const std::string where = at > 0 ? "line " + std::to_string(at) + ": " : "";
  return {base::ErrorCode::template_error, where + failure.message};
}

base::Error out_of_memory() { return {base::ErrorCode::out_of_memory, "no memory left to render the chat template"}; }

TemplateDict variables_of(const TemplateInputs& inputs) {
  TemplateDict variables;
  const auto set = [&](std::string_view name, TemplateValue value) {
    variables.set(name, std::move(value), Origin::template_source);
  };
  set("messages", inputs.messages);
  set("tools", inputs.tools);
  set("documents", TemplateValue::none());
  set("add_generation_prompt", TemplateValue::boolean(inputs.add_generation_prompt));
  set("bos_token", TemplateValue::string(inputs.bos_token, Origin::template_source));
  set("eos_token", TemplateValue::string(inputs.eos_token, Origin::template_source));
  for (const auto& [name, value] : inputs.extra.entries()) variables.set(name, value);
  return variables;
}

TemplateValue message(std::string role, std::string content) {
  TemplateDict dict;
  dict.set("role", TemplateValue::string(std::move(role)));
  dict.set("content", TemplateValue::string(std::move(content)));
  return TemplateValue::dict(std::move(dict));
}

TemplateValue probe_tool(std::string name) {
  TemplateDict parameters, function, tool;
  parameters.set("type", TemplateValue::string("object"));
  parameters.set("properties", TemplateValue::dict({}));
  function.set("name", TemplateValue::string(std::move(name)));
  function.set("description", TemplateValue::string("d"));
  function.set("parameters", TemplateValue::dict(std::move(parameters)));
  tool.set("type", TemplateValue::string("function"));
  tool.set("function", TemplateValue::dict(std::move(function)));
  return TemplateValue::dict(std::move(tool));
}

}  // namespace

struct ChatTemplate::Tree {
  jinja::TemplateTree tree;
};

std::string Rendered::text() const {
  std::string text;
  for (const RenderedSegment& segment : segments) text += segment.text;
  return text;
}

ChatTemplate::ChatTemplate(std::string source, TemplateLimits limits, std::unique_ptr<const Tree> tree)
    : source_(std::move(source)), limits_(limits), tree_(std::move(tree)) {}

ChatTemplate::~ChatTemplate() = default;

base::Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string source, TemplateLimits limits) {
  if (source.size() > limits.source_bytes) {
    return base::Error{base::ErrorCode::template_error, "the chat template has " + std::to_string(source.size()) +
                                                            " bytes; at most " + std::to_string(limits.source_bytes) +
                                                            " are accepted"};
  }
  if (!jinja::is_valid_utf8(source)) {
    return base::Error{base::ErrorCode::template_error, "the chat template is not valid UTF-8"};
  }
  try {
    auto tree = std::make_unique<Tree>();
    {
      const Budget budget(limits);
      tree->tree = jinja::parse_template(source);
    }
    const std::shared_ptr<ChatTemplate> result(new ChatTemplate(std::move(source), limits, std::move(tree)));
    result->probe();
    return std::shared_ptr<const ChatTemplate>(result);
  } catch (const TemplateFailure& failure) {
    return to_error(failure, 0);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

base::Result<Rendered> ChatTemplate::render(const TemplateInputs& inputs) const {
  int line = 0;
  try {
    const TemplateDict variables = variables_of(inputs);
    const Budget budget(limits_);
    jinja::Interpreter interpreter(tree_->tree, variables, inputs.now, limits_);
    try {
      return Rendered{interpreter.run().segments()};
    } catch (const TemplateFailure&) {
      line = interpreter.line();
      throw;
    }
  } catch (const TemplateFailure& failure) {
    return to_error(failure, line);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

bool ChatTemplate::mentions(std::string_view name) const {
  const auto is_word = [](char c) {
    return c == '_' || (static_cast<unsigned char>(c) < 0x80 && jinja::is_word(static_cast<unsigned char>(c)));
  };
  for (size_t at = source_.find(name); at != std::string::npos; at = source_.find(name, at + 1)) {
    const bool starts = at == 0 || !is_word(source_[at - 1]);
    const bool ends = at + name.size() >= source_.size() || !is_word(source_[at + name.size()]);
    if (starts && ends) return true;
  }
  return false;
}

void ChatTemplate::probe() {
  constexpr uint64_t kProbeSteps = 200'000;
  const TemplateLimits full = limits_;
  TemplateInputs inputs;
  const auto renders = [&](std::string_view needle) {
    TemplateLimits small = full;
    small.steps = kProbeSteps;
    try {
      const TemplateDict variables = variables_of(inputs);
      const Budget budget(small);
      jinja::Interpreter interpreter(tree_->tree, variables, inputs.now, small);
      return interpreter.run().view().find(needle) != std::string_view::npos;
    } catch (const TemplateFailure&) {
      return false;
    }
  };
  inputs.messages = TemplateValue::list({message("system", "takt-probe-system"), message("user", "takt-probe-user")});
  supports_system_role_ = renders("takt-probe-system");
  inputs.messages = TemplateValue::list({message("user", "takt-probe-user")});
  inputs.tools = TemplateValue::list({probe_tool("takt_probe_tool")});
  supports_tools_ = renders("takt_probe_tool");
}

}  // namespace takt::text
