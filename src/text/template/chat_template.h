// A model's chat template: a Jinja program that turns messages into the text the model was trained on. Renders what
// Python's jinja2 renders in the environment of Hugging Face transformers (immutable sandbox, trim_blocks, lstrip_blocks,
// loop controls, raise_exception, strftime_now, tojson = json.dumps).
//
// Usage:
//   auto parsed = ChatTemplate::parse(source);              // once per model; the result is immutable and shared freely
//   TemplateInputs inputs;
//   inputs.messages = to_template_value(json).value();      // see value_json.h
//   inputs.add_generation_prompt = true;
//   auto rendered = parsed.value()->render(inputs);         // error: code template_error, the template's own message
//   for (const RenderedSegment& s : rendered.value().segments) …  // s.from_user: special tokens in it are plain text
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/template/limits.h"
#include "text/template/provenance_text.h"
#include "text/template/value.h"

namespace takt::text {

using TemplateValue = jinja::Value;
using TemplateDict = jinja::Dict;
using TemplateLimits = jinja::Limits;

struct TemplateInputs {
  TemplateValue messages;  // a list of dicts
  TemplateValue tools;     // a list, or None
  bool add_generation_prompt = false;
  // Texts of special tokens: these are the template's, so they become special tokens.
  std::string bos_token, eos_token;
  // Further variables (chat_template_kwargs); they override the ones above.
  TemplateDict extra;
  // Local time for strftime_now. All zeros: 1 January 1900.
  std::tm now = {};
};

struct Rendered {
  std::vector<RenderedSegment> segments;  // neighbours differ in from_user; none is empty
  std::string text() const;
};

class ChatTemplate {
 public:
  // template_error: a syntax error ("line N: …") or a bound (size, nesting). Includes, imports, extends, block and
  // autoescape are refused.
  static base::Result<std::shared_ptr<const ChatTemplate>> parse(std::string source, TemplateLimits limits = {});
  ~ChatTemplate();

  // Safe to call from several threads at once. Needs about 1 MiB of stack for the deepest template it accepts.
  // template_error: raise_exception's message as it is, or "line N: …" for any other failure or a bound (steps, memory,
  // output, depth). Rendering takes time in the order of the output; call it where a few milliseconds may pass.
  base::Result<Rendered> render(const TemplateInputs& inputs) const;

  const std::string& source() const { return source_; }
  // Does the source mention `name` as a word ("tools", "enable_thinking", "documents")? A hint, no proof.
  bool mentions(std::string_view name) const;
  // Facts found by rendering small conversations once, in parse().
  bool supports_system_role() const { return supports_system_role_; }
  bool supports_tools() const { return supports_tools_; }

 private:
  struct Tree;
  ChatTemplate(std::string source, TemplateLimits limits, std::unique_ptr<const Tree> tree);
  void probe();

  const std::string source_;
  const TemplateLimits limits_;
  const std::unique_ptr<const Tree> tree_;
  bool supports_system_role_ = false;
  bool supports_tools_ = false;
};

}  // namespace takt::text
