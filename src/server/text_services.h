// What the server needs of text/: a narrow set of functions, so that endpoints are tested without a model.
#pragma once

#include <boost/json/fwd.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "contract/ids.h"
#include "contract/ports.h"
#include "text/template/chat_template.h"
#include "text/tokenizer.h"

namespace takt::server {

// Every function is called from several threads at once and must not throw.
struct TextServices {
  using TokenIds = std::vector<contract::TokenId>;

  // Text to token ids. `add_special`: with what the model wants around a text (usually a beginning-of-text token).
  // `parse_special`: control tokens written in the text become those tokens; otherwise they stay text.
  std::function<base::Result<TokenIds>(std::string_view text, bool add_special, bool parse_special)> encode;
  // Renders the model's chat template over `variables` ("messages", "tools", "add_generation_prompt", and what the client gave as
  // chat_template_kwargs). Errors: template_error, unsupported (the model has no template).
  std::function<base::Result<std::string>(const boost::json::object& variables)> render_chat;
  // The same, and to token ids. What a message's content holds stays text, whatever control token it spells.
  std::function<base::Result<TokenIds>(const boost::json::object& variables)> encode_chat;
  // Token ids to bytes, which may be invalid UTF-8. Precondition: ids in [0, vocabulary size).
  std::function<std::string(std::span<const contract::TokenId> ids)> decode;
  // The bytes that one token stands for; for a control token its name. Precondition: id in [0, vocabulary size).
  std::function<std::string(contract::TokenId id)> token_bytes;
  // Errors: invalid_argument (a stop string that is empty or no UTF-8, or too many).
  std::function<base::Result<std::unique_ptr<contract::StopDetector>>(const std::vector<std::string>& stop_strings,
                                                                      bool ignore_eos)>
      make_stop_detector;
  TokenIds end_tokens;  // that end an answer
};

// The services of a real model. `chat_template` may be null: chat requests are refused as unsupported then.
TextServices make_text_services(std::shared_ptr<const text::Tokenizer> tokenizer,
                                std::shared_ptr<const text::ChatTemplate> chat_template);

}  // namespace takt::server
