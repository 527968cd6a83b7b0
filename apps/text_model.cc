#include "text_model.h"

#include <cstdio>

#include "app_options.h"
#include "text/vocabulary_reader.h"

namespace takt::apps {
namespace {

std::shared_ptr<const text::ChatTemplate> load_template(const gguf::File& file) {
  if (file.find("tokenizer.chat_template") == nullptr) return nullptr;
  auto source = file.string("tokenizer.chat_template");
  if (!source) fail(source.error());
  auto parsed = text::ChatTemplate::parse(std::string(*source));
  if (parsed) return std::move(parsed).value();
  std::fprintf(stderr, "takt: the file's chat template cannot be used: %s\n", parsed.error().message.c_str());
  return nullptr;
}

}  // namespace

TextModel load_text_model(const gguf::File& file) {
  auto data = text::read_vocabulary(file);
  if (!data) fail(data.error());
  auto tokenizer = text::Tokenizer::create(std::move(data).value());
  if (!tokenizer) fail(tokenizer.error());
  TextModel model;
  model.tokenizer = std::move(tokenizer).value();
  model.chat_template = load_template(file);
  model.services = server::make_text_services(model.tokenizer, model.chat_template);
  return model;
}

}  // namespace takt::apps
