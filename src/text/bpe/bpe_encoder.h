// Byte-level BPE: text is cut into words, a word into bytes, and neighbours merge by the ranked list of the vocabulary.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/pair_merging.h"
#include "text/piece_index.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"
#include "text/whole_word_memory.h"

namespace takt::text::bpe {

// Every byte reaches the tokens, whether it is UTF-8 or not, as long as the vocabulary has a token for each of the 256 bytes.
// Some vocabularies lack a few that no UTF-8 text has, or rare control characters; such a byte becomes U+FFFD.
class BpeEncoder final : public TextEncoder {
 public:
  // Errors: those of find_pre_tokenizer and PreTokenizer::create; invalid_file for a merge that is not two words.
  static base::Result<std::unique_ptr<BpeEncoder>> create(std::shared_ptr<const Vocabulary> vocabulary);

  void encode(std::string_view text, bool is_after_special, std::vector<TokenId>& out, EncodeWork& work) const override;

 private:
  // A token id, or from token_count() on a symbol of extra_symbols_: merges may pass through spellings that are no tokens.
  using Symbol = uint32_t;
  class PieceSink;

  BpeEncoder(std::shared_ptr<const Vocabulary> vocabulary, const PreTokenizerSpec& spec, PreTokenizer pre_tokenizer);
  void index_tokens();
  base::Status index_merges();
  Symbol symbol_of(const std::string& bytes);
  void find_replacement();

  void encode_piece(std::string_view piece, MergeScratch& scratch, std::vector<TokenId>& out, EncodeWork& work) const;
  void merge_piece(std::string_view piece, MergeScratch& scratch, EncodeWork& work) const;
  void append_symbols(const MergeScratch& scratch, std::string_view piece, std::vector<TokenId>& out) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  PreTokenizer pre_tokenizer_;
  bool is_whole_word_first_;
  PieceIndex index_;  // bytes to normal tokens
  WholeWordMemory whole_words_;
  std::array<Symbol, 256> byte_symbols_{};
  std::vector<TokenId> replacement_;  // U+FFFD
  // Bytes of spellings that are no tokens, by symbol - token_count().
  std::unordered_map<std::string, Symbol> extra_symbols_;

  // Open addressing from the pair (left << 32 | right) to its merge; at most half full.
  struct MergeSlot {
    uint64_t key;
    PairMerge merge;
  };
  static constexpr uint64_t kFreeKey = ~uint64_t{0};
  size_t merge_slot_of(uint64_t key) const;
  std::vector<MergeSlot> merges_;
};

}  // namespace takt::text::bpe
