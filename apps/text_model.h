// A model file's tokenizer and chat template, loaded for the commands that speak text.
#pragma once

#include <memory>

#include "gguf/file.h"
#include "server/text_services.h"
#include "text/template/chat_template.h"
#include "text/tokenizer.h"

namespace takt::apps {

struct TextModel {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: the file has none, or it does not parse (a warning said why)
  server::TextServices services;
};

// Fails the command when the tokenizer cannot be read.
TextModel load_text_model(const gguf::File& file);

}  // namespace takt::apps
