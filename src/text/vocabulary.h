// The tokens of a model: what each stands for, and which of them have a role.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/vocabulary_data.h"

namespace takt::text {

enum class TokenizerKind { bpe, spm };

// Immutable after creation, so any number of threads may share one.
class Vocabulary {
 public:
  // Checks the data and gives the tokens their final types: a token that ends generation is a control token whatever the file
  // says, and so is a user-defined one of the form <|…|>, because both mark structure and must not be written by a user.
  // Errors: unsupported (model or pre-tokenizer name without an implementation, named with the known ones), invalid_file
  // (arrays of different lengths, an id outside the vocabulary, a score that is not a number).
  static base::Result<std::shared_ptr<const Vocabulary>> create(VocabularyData data);

  TokenizerKind kind() const { return kind_; }
  const std::string& pre() const { return data_.pre; }
  size_t token_count() const { return data_.tokens.size(); }
  bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < token_count(); }

  // For the functions with a TokenId: precondition contains(id).

  // The token as the file spells it (byte-level BPE writes bytes as printable characters, SPM writes a space as ▁).
  std::string_view text(TokenId id) const { return data_.tokens[index(id)]; }
  // The bytes the token stands for. They may be a part of a character. A control token's are its name; an unused one has none.
  std::string_view piece(TokenId id) const;
  TokenType type(TokenId id) const { return types_[index(id)]; }
  bool is_control(TokenId id) const { return type(id) == TokenType::control; }
  // A token that is found in text by its spelling, before everything else: control, user-defined, unknown.
  bool is_special(TokenId id) const;
  // Whether the token ends generation, by the file's ids or by its spelling.
  bool is_eog(TokenId id) const { return is_eog_[index(id)]; }
  // Whether white space after the token in a prompt belongs to it (Phi-3).
  bool strips_space_after(TokenId id) const;
  // SPM score; 0 where the file has none.
  float score(TokenId id) const { return data_.scores.empty() ? 0.0f : data_.scores[index(id)]; }

  std::optional<TokenId> bos() const { return data_.bos; }
  std::optional<TokenId> eos() const { return data_.eos; }
  std::optional<TokenId> unknown() const { return data_.unknown; }
  std::optional<TokenId> padding() const { return data_.padding; }
  // For chat templates; empty where the file names no such token.
  std::string_view bos_text() const { return data_.bos ? text(*data_.bos) : std::string_view(); }
  std::string_view eos_text() const { return data_.eos ? text(*data_.eos) : std::string_view(); }
  // Every token that ends generation, ascending.
  std::vector<TokenId> eog_tokens() const;

  // Whether a prompt of this model begins with bos(); implies that there is one.
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return data_.add_eos.value_or(false) && data_.eos; }
  // Whether SPM puts a space before text at the start and after a special token; decoding takes it away again.
  bool add_space_prefix() const { return kind_ == TokenizerKind::spm && data_.add_space_prefix.value_or(true); }

  // The "left right" lines of byte-level BPE, best first.
  const std::vector<std::string>& merges() const { return data_.merges; }

 private:
  explicit Vocabulary(VocabularyData data) : data_(std::move(data)) {}
  static size_t index(TokenId id) { return static_cast<size_t>(id); }
  base::Status resolve_kind();
  void resolve_types();
  void resolve_end_of_generation();
  void build_pieces();
  void append_piece(TokenId id);

  VocabularyData data_;
  TokenizerKind kind_ = TokenizerKind::bpe;
  bool add_bos_ = false;
  bool is_phi3_ = false;
  std::vector<TokenType> types_;
  std::vector<bool> is_eog_;
  std::string pieces_;                 // all pieces, one after another
  std::vector<size_t> piece_offsets_;  // token_count + 1
};

}  // namespace takt::text
