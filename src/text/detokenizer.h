// Tokens to text, one at a time or all at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace takt::text {

struct DecodeOptions {
  // Takes away the space that SPM encoding puts before text (Vocabulary::add_space_prefix). On for decoding what was encoded; off
  // for the answer to a prompt, which continues a text: there the first space is content.
  bool strip_space_prefix = false;
  // Shows control tokens by their names; otherwise they, and unknown ones, give nothing. User-defined tokens always show.
  bool show_special = false;
};

// Bytes of a token sequence, in order. They need not be UTF-8.
class ByteDecoder {
 public:
  ByteDecoder(std::shared_ptr<const Vocabulary> vocabulary, DecodeOptions options);
  // The bytes that `token` adds; valid as long as the vocabulary. A number outside the vocabulary (models pad theirs) adds nothing.
  std::string_view next(TokenId token);

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  DecodeOptions options_;
  bool strips_next_space_;
};

// Text of a token sequence: always complete UTF-8. The joined results of all push() and of finish() equal decode().
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Vocabulary> vocabulary, DecodeOptions options = {});
  // The characters that `token` completes. An incomplete one waits (at most 3 bytes); bytes that can never become a character
  // are replaced by U+FFFD, one for each maximal ill-formed part.
  std::string push(TokenId token);
  // The end: a character still incomplete becomes one U+FFFD.
  std::string finish();

 private:
  ByteDecoder bytes_;
  std::string pending_;
};

// The same for a whole sequence.
std::string decode(const std::shared_ptr<const Vocabulary>& vocabulary, std::span<const TokenId> tokens,
                   DecodeOptions options);
// The raw bytes. For byte-level BPE and DecodeOptions{.show_special = true} this inverts Tokenizer::encode without BOS, for any
// bytes, if the vocabulary has a token for every byte.
std::string decode_bytes(const std::shared_ptr<const Vocabulary>& vocabulary, std::span<const TokenId> tokens,
                         DecodeOptions options);

}  // namespace takt::text
