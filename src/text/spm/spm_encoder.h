// SentencePiece's BPE: neighbours merge by the score of the token that they make; characters without a token fall back to bytes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "text/pair_merging.h"
#include "text/piece_index.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"
#include "text/whole_word_memory.h"

namespace takt::text::spm {

// A space is spelled ▁ (U+2581) inside, so that a ▁ of the text decodes as a space. A byte that is not UTF-8 is taken alone, by
// its byte token. Where the vocabulary has no byte tokens the unknown token stands for a character; without that one, nothing.
class SpmEncoder final : public TextEncoder {
 public:
  explicit SpmEncoder(std::shared_ptr<const Vocabulary> vocabulary);

  void encode(std::string_view text, bool is_after_special, std::vector<TokenId>& out, EncodeWork& work) const override;

 private:
  void index_tokens();
  void rank_tokens();
  std::string escape(std::string_view text, bool is_after_special) const;
  size_t word_end(std::string_view text, size_t begin) const;
  void encode_piece(std::string_view piece, MergeScratch& scratch, std::vector<TokenId>& out, EncodeWork& work) const;
  void merge_piece(std::string_view piece, MergeScratch& scratch, EncodeWork& work) const;
  void append_symbols(const MergeScratch& scratch, std::string_view piece, std::vector<TokenId>& out) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  PieceIndex index_;  // spelling to token
  WholeWordMemory whole_words_;
  std::vector<uint32_t> ranks_;  // by token: position of its score in descending order; equal scores share one
  std::array<TokenId, 256> byte_tokens_{};  // kNoToken where there is none
  // Whether some token has ▁ right behind this byte. Where it has not, no merge crosses from the byte to a ▁, so that the text may
  // be cut there: words stay short.
  std::array<bool, 256> is_joined_to_space_{};
};

}  // namespace takt::text::spm
