#include "text_model.h"

#include "app_options.h"
#include "base/log.h"
#include "text/vocabulary_reader.h"

namespace takt::apps {
namespace {

void load_template(const gguf::File& file, TextModel& model) {
  if (file.find("tokenizer.chat_template") == nullptr) return;
  auto source = file.string("tokenizer.chat_template");
  if (!source) fail(source.error());
  auto parsed = text::ChatTemplate::parse(std::string(*source));
  if (parsed) {
    model.chat_template = std::move(parsed).value();
    return;
  }
  model.template_error = "the file's chat template cannot be used: " + parsed.error().message;
  base::log(base::LogLevel::warning, model.template_error);
}

}  // namespace

TextModel load_text_model(const Session& session) {
  const gguf::File& file = *session.file();
  auto data = text::read_vocabulary(file);
  if (!data) fail(data.error());
  auto tokenizer = text::Tokenizer::create(std::move(data).value());
  if (!tokenizer) fail(tokenizer.error());
  TextModel model;
  model.tokenizer = std::move(tokenizer).value();
  const size_t tokens = model.tokenizer->vocabulary()->token_count(), rows = session.model().spec.vocabulary_size;
  if (tokens > rows)
    fail(file.path() + ": metadata key 'tokenizer.ggml.tokens' has " + std::to_string(tokens) +
         " tokens, but tensor 'token_embd.weight' only " + std::to_string(rows) + " rows");
  load_template(file, model);
  model.services = server::make_text_services(model.tokenizer, model.chat_template);
  if (!model.template_error.empty()) {
    const base::Error error{base::ErrorCode::template_error, model.template_error};
    model.services.render_chat = [error](const boost::json::object&) { return error; };
    model.services.encode_chat = [error](const boost::json::object&) { return error; };
  }
  return model;
}

}  // namespace takt::apps
