#include "text/spm/spm_encoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "text/utf8.h"

namespace takt::text::spm {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // ▁
constexpr TokenId kNoToken = -1;
constexpr uint32_t kNoSymbol = kNoMerge;  // a character that is no token

}  // namespace

SpmEncoder::SpmEncoder(std::shared_ptr<const Vocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)), index_(vocabulary_->token_count()), whole_words_(vocabulary_->token_count()) {
  byte_tokens_.fill(kNoToken);
  index_tokens();
  rank_tokens();
}

// Control, unknown and byte tokens stay out: what a user writes must not become one by way of merging.
void SpmEncoder::index_tokens() {
  for (size_t i = 0; i < vocabulary_->token_count(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenType type = vocabulary_->type(id);
    const std::string_view spelling = vocabulary_->text(id);
    if (type == TokenType::byte && vocabulary_->piece(id).size() == 1) {
      byte_tokens_[static_cast<uint8_t>(vocabulary_->piece(id)[0])] = id;
    }
    if (type == TokenType::byte || type == TokenType::control || type == TokenType::unknown || spelling.empty())
      continue;
    index_.add(spelling, id);
    for (size_t at = spelling.find(kSpace, 1); at != std::string_view::npos; at = spelling.find(kSpace, at + 1)) {
      is_joined_to_space_[static_cast<uint8_t>(spelling[at - 1])] = true;
    }
  }
}

void SpmEncoder::rank_tokens() {
  std::vector<TokenId> order(vocabulary_->token_count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](TokenId a, TokenId b) { return vocabulary_->score(a) > vocabulary_->score(b); });
  ranks_.resize(order.size());
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && vocabulary_->score(order[i]) != vocabulary_->score(order[i - 1])) ++rank;
    ranks_[static_cast<size_t>(order[i])] = rank;
  }
}

std::string SpmEncoder::escape(std::string_view text, bool is_after_special) const {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2 + kSpace.size());
  if (is_after_special && vocabulary_->add_space_prefix()) escaped.append(kSpace);
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    escaped.append(text.substr(at, space - at));
    if (space < text.size()) escaped.append(kSpace);
    at = space + 1;
  }
  return escaped;
}

// The next place behind `begin` where no merge can cross, or the end.
size_t SpmEncoder::word_end(std::string_view text, size_t begin) const {
  for (size_t at = text.find(kSpace, begin + 1); at != std::string_view::npos; at = text.find(kSpace, at + 1)) {
    if (!is_joined_to_space_[static_cast<uint8_t>(text[at - 1])]) return at;
  }
  return text.size();
}

void SpmEncoder::encode(std::string_view text, bool is_after_special, std::vector<TokenId>& out,
                        EncodeWork& work) const {
  if (text.empty()) return;
  const std::string escaped = escape(text, is_after_special);
  const std::string_view view = escaped;
  MergeScratch scratch;
  for (size_t begin = 0; begin < view.size();) {
    const size_t end = word_end(view, begin);
    encode_piece(view.substr(begin, end - begin), scratch, out, work);
    begin = end;
  }
}

void SpmEncoder::encode_piece(std::string_view piece, MergeScratch& scratch, std::vector<TokenId>& out,
                              EncodeWork& work) const {
  ++work.pieces;
  const auto whole = index_.find(piece);
  if (whole && whole_words_.get(*whole) == WholeWordMemory::State::merges_to_itself) {
    out.push_back(*whole);
    return;
  }
  merge_piece(piece, scratch, work);
  if (whole) whole_words_.set(*whole, scratch.symbols.size() == 1);
  append_symbols(scratch, piece, out);
}

void SpmEncoder::merge_piece(std::string_view piece, MergeScratch& scratch, EncodeWork& work) const {
  scratch.symbols.clear();
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = next_utf8(piece.substr(at));
    const size_t size = step.kind == Utf8Step::Kind::valid ? step.size : 1;
    const auto id = index_.find(piece.substr(at, size));
    scratch.symbols.push_back(
        {static_cast<uint32_t>(at), static_cast<uint32_t>(size), id ? static_cast<uint32_t>(*id) : kNoSymbol});
    at += size;
  }
  const auto lookup = [this, piece](const MergeSymbol& left, const MergeSymbol& right) -> PairMerge {
    const auto id = index_.find(piece.substr(left.begin, left.size + right.size));
    if (!id) return {kNoMerge, 0};
    return {ranks_[static_cast<size_t>(*id)], static_cast<uint32_t>(*id)};
  };
  merge_pairs(scratch, lookup, work.merge_steps);
}

void SpmEncoder::append_symbols(const MergeScratch& scratch, std::string_view piece, std::vector<TokenId>& out) const {
  for (const MergeSymbol& symbol : scratch.symbols) {
    if (symbol.id != kNoSymbol) {
      out.push_back(static_cast<TokenId>(symbol.id));
      continue;
    }
    const std::string_view bytes = piece.substr(symbol.begin, symbol.size);
    const bool has_byte_tokens = std::all_of(
        bytes.begin(), bytes.end(), [this](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)] != kNoToken; });
    if (has_byte_tokens) {
      for (const char byte : bytes) out.push_back(byte_tokens_[static_cast<uint8_t>(byte)]);
    } else if (vocabulary_->unknown()) {
      out.push_back(*vocabulary_->unknown());
    }
  }
}

}  // namespace takt::text::spm
