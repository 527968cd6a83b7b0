// A model file's tokenizer and chat template, loaded for the commands that speak text.
#pragma once

#include <memory>
#include <string>

#include "server/text_services.h"
#include "session.h"
#include "text/template/chat_template.h"
#include "text/tokenizer.h"

namespace takt::apps {

struct TextModel {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: the file has none, or it cannot be used
  std::string template_error;                               // why it cannot be used
  server::TextServices services;                            // chat requests are answered with template_error then
};

// Fails the command when the tokenizer cannot be read, or has tokens that the model has no embedding for.
TextModel load_text_model(const Session& session);

}  // namespace takt::apps
