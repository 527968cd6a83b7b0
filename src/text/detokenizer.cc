#include "text/detokenizer.h"

#include <utility>

#include "text/utf8.h"

namespace takt::text {

ByteDecoder::ByteDecoder(std::shared_ptr<const Vocabulary> vocabulary, DecodeOptions options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      strips_next_space_(options.strip_space_prefix && vocabulary_->add_space_prefix()) {}

std::string_view ByteDecoder::next(TokenId token) {
  if (!vocabulary_->contains(token)) return {};
  const std::string_view piece = vocabulary_->piece(token);
  if (vocabulary_->is_special(token)) {
    // Encoding puts a space behind it again.
    strips_next_space_ = options_.strip_space_prefix && vocabulary_->add_space_prefix();
    const bool is_shown = options_.show_special || vocabulary_->type(token) == TokenType::user_defined;
    return is_shown ? piece : std::string_view();
  }
  const bool strips = std::exchange(strips_next_space_, false);
  return strips && piece.starts_with(' ') ? piece.substr(1) : piece;
}

StreamDecoder::StreamDecoder(std::shared_ptr<const Vocabulary> vocabulary, DecodeOptions options)
    : bytes_(std::move(vocabulary), options) {}

std::string StreamDecoder::push(TokenId token) {
  pending_.append(bytes_.next(token));
  std::string out;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const size_t valid = utf8_valid_prefix(rest);
    out.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Step step = next_utf8(rest);
    if (step.kind == Utf8Step::Kind::incomplete) break;
    out.append(kReplacementCharacter);
    rest.remove_prefix(step.size);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return out;
}

std::string StreamDecoder::finish() {
  if (pending_.empty()) return {};
  pending_.clear();
  return std::string(kReplacementCharacter);
}

std::string decode(const std::shared_ptr<const Vocabulary>& vocabulary, std::span<const TokenId> tokens,
                   DecodeOptions options) {
  StreamDecoder decoder(vocabulary, options);
  std::string text;
  for (const TokenId token : tokens) text.append(decoder.push(token));
  text.append(decoder.finish());
  return text;
}

std::string decode_bytes(const std::shared_ptr<const Vocabulary>& vocabulary, std::span<const TokenId> tokens,
                         DecodeOptions options) {
  ByteDecoder decoder(vocabulary, options);
  std::string bytes;
  for (const TokenId token : tokens) bytes.append(decoder.next(token));
  return bytes;
}

}  // namespace takt::text
