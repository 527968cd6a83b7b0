// Text to tokens, for one model.
//
//   auto tokenizer = text::Tokenizer::create(std::move(data));
//   std::vector<TokenId> ids = (*tokenizer)->encode("Hello", /*parse_special=*/false, /*add_bos=*/true);
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/special_tokens.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"

namespace takt::text {

struct TextSegment {
  std::string_view text;
  // Whether the spelling of a control token in here is that token. True for what a template writes, false for what a user
  // writes: there it stays text. (User-defined tokens, such as runs of newlines or <tool_call>, are vocabulary like any word and
  // are found in both.)
  bool parse_special = false;
};

// Immutable; any number of threads may share one.
class Tokenizer {
 public:
  // Errors: those of Vocabulary::create, and invalid_file for a malformed merge.
  static base::Result<std::shared_ptr<const Tokenizer>> create(VocabularyData data);
  static base::Result<std::shared_ptr<const Tokenizer>> create(std::shared_ptr<const Vocabulary> vocabulary);

  // The tokens of the segments' texts, joined: the border between two segments changes nothing but where control tokens are found.
  // `add_bos`: where the vocabulary asks for it (Vocabulary::add_bos), BOS comes first; once, if the text begins with it already.
  // Any bytes are accepted (see BpeEncoder and SpmEncoder for those that are not UTF-8). Time grows as n log n at most.
  // Precondition: fewer than kEncodeBytesMax bytes together.
  std::vector<TokenId> encode(std::span<const TextSegment> segments, bool add_bos, EncodeWork* work = nullptr) const;
  std::vector<TokenId> encode(std::string_view text, bool parse_special, bool add_bos,
                              EncodeWork* work = nullptr) const;

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }

 private:
  Tokenizer(std::shared_ptr<const Vocabulary> vocabulary, std::unique_ptr<const TextEncoder> encoder);
  std::vector<TokenId> encode_joined(std::string_view text, std::span<const TrustRange> ranges, bool add_bos,
                                     EncodeWork& work) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<const TextEncoder> encoder_;
  SpecialTokens special_tokens_;
};

}  // namespace takt::text
