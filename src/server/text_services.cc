#include "server/text_services.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <ctime>

#include "text/detokenizer.h"
#include "text/output_filter.h"
#include "text/template/value_json.h"

namespace takt::server {

namespace {

using TokenIds = TextServices::TokenIds;

// The tokenizer and the template of one model. Immutable, so that any number of threads may use it.
struct Texts {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;

  base::Result<text::Rendered> render(const boost::json::object& variables) const;
  base::Result<TokenIds> encode_chat(const boost::json::object& variables) const;
};

base::Result<text::Rendered> Texts::render(const boost::json::object& variables) const {
  if (chat_template == nullptr) return base::Error{base::ErrorCode::unsupported, "this model has no chat template"};
  text::TemplateInputs inputs;
  inputs.bos_token = std::string(tokenizer->vocabulary()->bos_text());
  inputs.eos_token = std::string(tokenizer->vocabulary()->eos_text());
  const std::time_t now = std::time(nullptr);
  localtime_r(&now, &inputs.now);
  for (const auto& [key, json] : variables) {
    auto value = text::to_template_value(json);
    if (!value) return value.error();
    const std::string_view name(key.data(), key.size());
    if (name == "messages") {
      inputs.messages = std::move(*value);
    } else if (name == "tools") {
      inputs.tools = std::move(*value);
    } else if (name == "add_generation_prompt") {
      inputs.add_generation_prompt = value->is_boolean() && value->as_boolean();
    } else {
      inputs.extra.set(name, std::move(*value));
    }
  }
  return chat_template->render(inputs);
}

base::Result<TokenIds> Texts::encode_chat(const boost::json::object& variables) const {
  const auto rendered = render(variables);
  if (!rendered) return rendered.error();
  std::vector<text::TextSegment> segments;
  for (const text::RenderedSegment& segment : rendered->segments)
    segments.push_back({segment.text, !segment.from_user});
  // A template that writes the beginning-of-text token itself and the tokenizer that adds one must not make two of it: encode()
  // sees to that.
  return tokenizer->encode(segments, true);
}

}  // namespace

TextServices make_text_services(std::shared_ptr<const text::Tokenizer> tokenizer,
                                std::shared_ptr<const text::ChatTemplate> chat_template) {
  const auto texts = std::make_shared<const Texts>(Texts{std::move(tokenizer), std::move(chat_template)});
  TextServices services;
  services.encode = [texts](std::string_view text, bool add_special, bool parse_special) -> base::Result<TokenIds> {
    return texts->tokenizer->encode(text, parse_special, add_special);
  };
  services.render_chat = [texts](const boost::json::object& variables) -> base::Result<std::string> {
    const auto rendered = texts->render(variables);
    if (!rendered) return rendered.error();
    return rendered->text();
  };
  services.encode_chat = [texts](const boost::json::object& variables) { return texts->encode_chat(variables); };
  services.decode = [texts](std::span<const contract::TokenId> ids) {
    const text::DecodeOptions options{.strip_space_prefix = true, .show_special = true};
    return text::decode_bytes(texts->tokenizer->vocabulary(), ids, options);
  };
  services.token_bytes = [texts](contract::TokenId id) {
    // A model may have more rows than the vocabulary has tokens (padding).
    const text::Vocabulary& vocabulary = *texts->tokenizer->vocabulary();
    return vocabulary.contains(id) ? std::string(vocabulary.piece(id)) : std::string();
  };
  services.make_stop_detector = [texts](const std::vector<std::string>& stop_strings,
                                        bool ignore_eos) -> base::Result<std::unique_ptr<contract::StopDetector>> {
    auto stops = text::StopStrings::create(stop_strings);
    if (!stops) return stops.error();
    const text::OutputFilter::Options options{.ignore_eos = ignore_eos, .show_special = false};
    return std::unique_ptr<contract::StopDetector>(
        std::make_unique<text::OutputFilter>(texts->tokenizer->vocabulary(), std::move(*stops), options));
  };
  const text::Vocabulary& vocabulary = *texts->tokenizer->vocabulary();
  for (contract::TokenId id = 0; vocabulary.contains(id); ++id)
    if (vocabulary.is_eog(id)) services.end_tokens.push_back(id);
  return services;
}

}  // namespace takt::server
