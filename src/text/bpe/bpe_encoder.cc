#include "text/bpe/bpe_encoder.h"

#include <bit>
#include <utility>

#include "text/bpe/byte_map.h"
#include "text/utf8.h"

namespace takt::text::bpe {

class BpeEncoder::PieceSink final : public PreTokenizer::Sink {
 public:
  PieceSink(const BpeEncoder& encoder, std::vector<TokenId>& out, EncodeWork& work)
      : encoder_(encoder), out_(out), work_(work) {}
  void piece(std::string_view piece) override { encoder_.encode_piece(piece, scratch_, out_, work_); }

 private:
  const BpeEncoder& encoder_;
  std::vector<TokenId>& out_;
  EncodeWork& work_;
  MergeScratch scratch_;
};

base::Result<std::unique_ptr<BpeEncoder>> BpeEncoder::create(std::shared_ptr<const Vocabulary> vocabulary) {
  const auto spec = find_pre_tokenizer(vocabulary->pre());
  if (!spec) return spec.error();
  auto pre_tokenizer = PreTokenizer::create(**spec);
  if (!pre_tokenizer) return std::move(pre_tokenizer.error());
  std::unique_ptr<BpeEncoder> encoder(new BpeEncoder(std::move(vocabulary), **spec, std::move(*pre_tokenizer)));
  encoder->index_tokens();
  if (auto status = encoder->index_merges(); !status) return std::move(status.error());
  encoder->find_replacement();
  return encoder;
}

BpeEncoder::BpeEncoder(std::shared_ptr<const Vocabulary> vocabulary, const PreTokenizerSpec& spec,
                       PreTokenizer pre_tokenizer)
    : vocabulary_(std::move(vocabulary)),
      pre_tokenizer_(std::move(pre_tokenizer)),
      is_whole_word_first_(spec.is_whole_word_first),
      index_(vocabulary_->token_count()),
      whole_words_(vocabulary_->token_count()) {}

// Only normal tokens: what a user writes must not become a control token by way of merging, and user-defined tokens are found
// before words are cut.
void BpeEncoder::index_tokens() {
  std::string bytes;
  for (size_t i = 0; i < vocabulary_->token_count(); ++i) {
    const auto id = static_cast<TokenId>(i);
    bytes.clear();
    if (vocabulary_->type(id) != TokenType::normal || vocabulary_->piece(id).empty()) continue;
    if (append_spelled_bytes(vocabulary_->text(id), bytes)) index_.add(vocabulary_->piece(id), id);
  }
  for (size_t byte = 0; byte < 256; ++byte) byte_symbols_[byte] = symbol_of(std::string(1, static_cast<char>(byte)));
}

BpeEncoder::Symbol BpeEncoder::symbol_of(const std::string& bytes) {
  if (const auto id = index_.find(bytes)) return static_cast<Symbol>(*id);
  const auto next = static_cast<Symbol>(vocabulary_->token_count() + extra_symbols_.size());
  return extra_symbols_.emplace(bytes, next).first->second;
}

base::Status BpeEncoder::index_merges() {
  const auto& lines = vocabulary_->merges();
  merges_.assign(std::bit_ceil(2 * lines.size() + 2), MergeSlot{kFreeKey, {kNoMerge, 0}});
  std::string left, right;
  for (size_t rank = 0; rank < lines.size(); ++rank) {
    const std::string_view line = lines[rank];
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size()) {
      return base::Error{base::ErrorCode::invalid_file,
                         "tokenizer.ggml.merges[" + std::to_string(rank) + "] is not two words with a space between"};
    }
    left.clear();
    right.clear();
    // A spelling outside the byte map can never come about from bytes.
    if (!append_spelled_bytes(line.substr(0, space), left) || !append_spelled_bytes(line.substr(space + 1), right))
      continue;
    const uint64_t key = uint64_t{symbol_of(left)} << 32 | symbol_of(right);
    MergeSlot& slot = merges_[merge_slot_of(key)];
    if (slot.key != kFreeKey) continue;  // the first of equal lines has the better rank
    slot = {key, {static_cast<uint32_t>(rank), symbol_of(left + right)}};
  }
  return {};
}

size_t BpeEncoder::merge_slot_of(uint64_t key) const {
  uint64_t hash = key * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  hash ^= hash >> 32;
  size_t at = hash & (merges_.size() - 1);
  while (merges_[at].key != key && merges_[at].key != kFreeKey) at = (at + 1) & (merges_.size() - 1);
  return at;
}

void BpeEncoder::find_replacement() {
  MergeScratch scratch;
  EncodeWork work;
  std::vector<TokenId> ids;
  for (const char byte : kReplacementCharacter) {
    if (byte_symbols_[static_cast<uint8_t>(byte)] >= vocabulary_->token_count()) return;  // replaced by nothing, then
  }
  encode_piece(kReplacementCharacter, scratch, ids, work);
  replacement_ = std::move(ids);
}

void BpeEncoder::encode(std::string_view text, bool, std::vector<TokenId>& out, EncodeWork& work) const {
  PieceSink sink(*this, out, work);
  work.pattern_failures += pre_tokenizer_.split(text, sink);
}

void BpeEncoder::encode_piece(std::string_view piece, MergeScratch& scratch, std::vector<TokenId>& out,
                              EncodeWork& work) const {
  ++work.pieces;
  const auto whole = index_.find(piece);
  if (whole && (is_whole_word_first_ || whole_words_.get(*whole) == WholeWordMemory::State::merges_to_itself)) {
    out.push_back(*whole);
    return;
  }
  merge_piece(piece, scratch, work);
  if (whole) whole_words_.set(*whole, scratch.symbols.size() == 1);
  append_symbols(scratch, piece, out);
}

void BpeEncoder::merge_piece(std::string_view piece, MergeScratch& scratch, EncodeWork& work) const {
  scratch.symbols.resize(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    scratch.symbols[i] = {static_cast<uint32_t>(i), 1, byte_symbols_[static_cast<uint8_t>(piece[i])]};
  }
  const auto lookup = [this](const MergeSymbol& left, const MergeSymbol& right) {
    return merges_[merge_slot_of(uint64_t{left.id} << 32 | right.id)].merge;
  };
  merge_pairs(scratch, lookup, work.merge_steps);
}

void BpeEncoder::append_symbols(const MergeScratch& scratch, std::string_view piece, std::vector<TokenId>& out) const {
  for (const MergeSymbol& symbol : scratch.symbols) {
    if (symbol.id < vocabulary_->token_count()) {
      out.push_back(static_cast<TokenId>(symbol.id));
      continue;
    }
    for (const char byte : piece.substr(symbol.begin, symbol.size)) {
      const Symbol byte_symbol = byte_symbols_[static_cast<uint8_t>(byte)];
      if (byte_symbol < vocabulary_->token_count()) {
        out.push_back(static_cast<TokenId>(byte_symbol));
      } else {
        out.insert(out.end(), replacement_.begin(), replacement_.end());
      }
    }
  }
}

}  // namespace takt::text::bpe
