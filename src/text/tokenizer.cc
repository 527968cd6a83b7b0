#include "text/tokenizer.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "text/bpe/bpe_encoder.h"
#include "text/spm/spm_encoder.h"

namespace takt::text {
namespace {

// White space that Phi-3's special tokens swallow (Python's str.rstrip on ASCII).
bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

base::Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(VocabularyData data) {
  auto vocabulary = Vocabulary::create(std::move(data));
  if (!vocabulary) return std::move(vocabulary.error());
  return create(std::move(*vocabulary));
}

base::Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(std::shared_ptr<const Vocabulary> vocabulary) {
  std::unique_ptr<const TextEncoder> encoder;
  if (vocabulary->kind() == TokenizerKind::bpe) {
    auto bpe_encoder = bpe::BpeEncoder::create(vocabulary);
    if (!bpe_encoder) return std::move(bpe_encoder.error());
    encoder = std::move(*bpe_encoder);
  } else {
    encoder = std::make_unique<spm::SpmEncoder>(vocabulary);
  }
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(vocabulary), std::move(encoder)));
}

Tokenizer::Tokenizer(std::shared_ptr<const Vocabulary> vocabulary, std::unique_ptr<const TextEncoder> encoder)
    : vocabulary_(std::move(vocabulary)), encoder_(std::move(encoder)), special_tokens_(vocabulary_) {}

std::vector<TokenId> Tokenizer::encode(std::span<const TextSegment> segments, bool add_bos, EncodeWork* work) const {
  std::string joined;
  std::vector<TrustRange> ranges;
  for (const TextSegment& segment : segments) {
    joined.append(segment.text);
    if (!segment.text.empty()) ranges.push_back({joined.size(), segment.parse_special});
  }
  EncodeWork unused;
  return encode_joined(joined, ranges, add_bos, work != nullptr ? *work : unused);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special, bool add_bos,
                                       EncodeWork* work) const {
  const TrustRange range{text.size(), parse_special};
  EncodeWork unused;
  return encode_joined(text, {&range, 1}, add_bos, work != nullptr ? *work : unused);
}

std::vector<TokenId> Tokenizer::encode_joined(std::string_view text, std::span<const TrustRange> ranges, bool add_bos,
                                              EncodeWork& work) const {
  assert(text.size() < kEncodeBytesMax);
  const std::vector<SpecialMatch> matches = special_tokens_.find_all(text, ranges, work.special_steps);
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 8);
  const bool begins_with_bos = !matches.empty() && matches[0].begin == 0 && matches[0].id == vocabulary_->bos();
  if (add_bos && vocabulary_->add_bos() && !begins_with_bos) ids.push_back(*vocabulary_->bos());
  size_t at = 0;
  bool is_after_special = true;
  for (const SpecialMatch& match : matches) {
    if (match.begin > at) encoder_->encode(text.substr(at, match.begin - at), is_after_special, ids, work);
    ids.push_back(match.id);
    at = std::max(at, match.end);
    if (vocabulary_->strips_space_after(match.id)) {
      while (at < text.size() && is_ascii_space(text[at])) ++at;
    }
    is_after_special = true;
  }
  if (at < text.size()) encoder_->encode(text.substr(at), is_after_special, ids, work);
  return ids;
}

}  // namespace takt::text
