#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "text/bpe/byte_map.h"
#include "text/bpe/pre_tokenizer_table.h"

namespace takt::text {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kSpmSpace = "\xE2\x96\x81";  // ▁

// Ends of a turn or of a text by their spelling, whatever ids and types the file gives. GGUF files name one or two of a
// model's end tokens at best.
constexpr std::string_view kEndOfGenerationTexts[] = {
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|EOT|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<end_of_utterance>",
    "<turn|>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",  // DeepSeek
};

// Spellings that may also be ordinary text (HTML) or markers of code completion: they end generation only where the file
// does not call them normal.
constexpr std::string_view kEndOfGenerationMarkerTexts[] = {
    "[EOS]",        "<eos>",         "<|fim_pad|>", "<fim-pad>",  "<fim_pad>",
    "<|fim_repo|>", "<|repo_name|>", "<fim-repo>",  "<reponame>", "<|file_sep|>",
};

template <size_t N>
bool is_one_of(std::string_view text, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// <|…|> or DeepSeek's full-width <｜…｜>.
bool is_markup(std::string_view text) {
  constexpr std::string_view kWideOpen = "<\xEF\xBD\x9C";
  constexpr std::string_view kWideClose = "\xEF\xBD\x9C>";
  return (text.size() > 4 && text.starts_with("<|") && text.ends_with("|>")) ||
         (text.size() > 8 && text.starts_with(kWideOpen) && text.ends_with(kWideClose));
}

// The byte of a spelling like "<0x0A>", if it is one.
std::optional<uint8_t> byte_of_spelling(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    if (!std::isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

base::Status check_id(std::string_view key, std::optional<TokenId> id, size_t token_count) {
  if (!id || (*id >= 0 && static_cast<size_t>(*id) < token_count)) return {};
  return Error{ErrorCode::invalid_file, "tokenizer.ggml." + std::string(key) + "_token_id is " + std::to_string(*id) +
                                            ", outside the vocabulary of " + std::to_string(token_count) + " tokens"};
}

base::Status check_arrays(const VocabularyData& data) {
  const auto mismatch = [&](std::string_view key, size_t size) {
    return Error{ErrorCode::invalid_file, "tokenizer.ggml." + std::string(key) + " has " + std::to_string(size) +
                                              " entries, tokenizer.ggml.tokens has " +
                                              std::to_string(data.tokens.size())};
  };
  if (data.tokens.empty()) return Error{ErrorCode::invalid_file, "tokenizer.ggml.tokens is empty"};
  if (!data.scores.empty() && data.scores.size() != data.tokens.size()) return mismatch("scores", data.scores.size());
  if (!data.token_types.empty() && data.token_types.size() != data.tokens.size()) {
    return mismatch("token_type", data.token_types.size());
  }
  for (size_t i = 0; i < data.scores.size(); ++i) {
    if (std::isnan(data.scores[i])) {
      return Error{ErrorCode::invalid_file, "tokenizer.ggml.scores[" + std::to_string(i) + "] is not a number"};
    }
  }
  return {};
}

base::Status check_ids(const VocabularyData& data) {
  const std::pair<std::string_view, std::optional<TokenId>> ids[] = {
      {"bos", data.bos}, {"eos", data.eos},         {"eot", data.eot},
      {"eom", data.eom}, {"unknown", data.unknown}, {"padding", data.padding}};
  for (const auto& [key, id] : ids) {
    if (auto status = check_id(key, id, data.tokens.size()); !status) return status;
  }
  return {};
}

}  // namespace

base::Result<std::shared_ptr<const Vocabulary>> Vocabulary::create(VocabularyData data) {
  if (auto status = check_arrays(data); !status) return std::move(status.error());
  if (auto status = check_ids(data); !status) return std::move(status.error());
  std::shared_ptr<Vocabulary> vocabulary(new Vocabulary(std::move(data)));
  if (auto status = vocabulary->resolve_kind(); !status) return std::move(status.error());
  vocabulary->resolve_types();
  vocabulary->resolve_end_of_generation();
  vocabulary->build_pieces();
  return std::shared_ptr<const Vocabulary>(std::move(vocabulary));
}

base::Status Vocabulary::resolve_kind() {
  bool add_bos_default = false;
  if (data_.model == "gpt2") {
    kind_ = TokenizerKind::bpe;
    const auto spec = bpe::find_pre_tokenizer(data_.pre);
    if (!spec) return spec.error();
    add_bos_default = (*spec)->add_bos;
  } else if (data_.model == "llama") {
    kind_ = TokenizerKind::spm;
    add_bos_default = true;
    if (data_.scores.empty()) {
      return Error{ErrorCode::invalid_file,
                   "tokenizer.ggml.scores is missing; tokenizer.ggml.model \"llama\" (SPM) needs it"};
    }
  } else {
    return Error{ErrorCode::unsupported, "tokenizer.ggml.model is \"" + data_.model +
                                             "\"; known are \"gpt2\" (byte-level BPE) and \"llama\" (SPM)"};
  }
  if (data_.add_bos == true && !data_.bos) {
    return Error{ErrorCode::invalid_file,
                 "tokenizer.ggml.add_bos_token is true, but tokenizer.ggml.bos_token_id is missing"};
  }
  add_bos_ = data_.add_bos.value_or(add_bos_default) && data_.bos;
  return {};
}

void Vocabulary::resolve_types() {
  types_ = std::move(data_.token_types);
  data_.token_types.clear();
  types_.resize(token_count(), TokenType::normal);
  for (size_t i = 0; i < types_.size(); ++i) {
    if (types_[i] == TokenType::undefined) types_[i] = TokenType::normal;
    if (types_[i] == TokenType::user_defined && is_markup(data_.tokens[i])) types_[i] = TokenType::control;
  }
  std::string name = data_.model_name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  is_phi3_ = name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
}

void Vocabulary::resolve_end_of_generation() {
  is_eog_.assign(token_count(), false);
  std::optional<size_t> end, harmony_return, harmony_call, solar_flush;
  for (size_t i = 0; i < token_count(); ++i) {
    const std::string_view text = data_.tokens[i];
    if (text == "<|end|>") end = i;
    if (text == "<|return|>") harmony_return = i;
    if (text == "<|call|>" || text == "<|calls|>") harmony_call = i;
    if (text == "<|flush|>") solar_flush = i;
    const bool is_marker = types_[i] != TokenType::normal && is_one_of(text, kEndOfGenerationMarkerTexts);
    const bool is_closing_tag = types_[i] == TokenType::control && text == "</s>";
    is_eog_[i] = is_marker || is_closing_tag || is_one_of(text, kEndOfGenerationTexts);
  }
  // In these formats <|end|> closes one message of an answer; <|return|>, <|call|> or <|flush|> closes the answer.
  if (end && harmony_call && (harmony_return || solar_flush)) is_eog_[*end] = false;
  for (const auto id : {data_.eos, data_.eot, data_.eom}) {
    if (id) is_eog_[index(*id)] = true;
  }
  for (size_t i = 0; i < token_count(); ++i) {
    if (is_eog_[i]) types_[i] = TokenType::control;
  }
}

void Vocabulary::build_pieces() {
  piece_offsets_.reserve(token_count() + 1);
  piece_offsets_.push_back(0);
  for (size_t i = 0; i < token_count(); ++i) {
    append_piece(static_cast<TokenId>(i));
    piece_offsets_.push_back(pieces_.size());
  }
  pieces_.shrink_to_fit();
}

void Vocabulary::append_piece(TokenId id) {
  const std::string_view spelling = text(id);
  switch (type(id)) {
    case TokenType::unused: return;
    case TokenType::byte:
      if (const auto byte = byte_of_spelling(spelling)) {
        pieces_.push_back(static_cast<char>(*byte));
        return;
      }
      break;
    case TokenType::normal:
      if (kind_ == TokenizerKind::bpe) {
        if (bpe::append_spelled_bytes(spelling, pieces_)) return;
        break;
      }
      for (size_t at = 0; at < spelling.size();) {
        const size_t space = std::min(spelling.find(kSpmSpace, at), spelling.size());
        pieces_.append(spelling.substr(at, space - at));
        if (space < spelling.size()) pieces_.push_back(' ');
        at = space + kSpmSpace.size();
      }
      return;
    default: break;
  }
  pieces_.append(spelling);
}

std::string_view Vocabulary::piece(TokenId id) const {
  const size_t begin = piece_offsets_[index(id)];
  return std::string_view(pieces_).substr(begin, piece_offsets_[index(id) + 1] - begin);
}

bool Vocabulary::is_special(TokenId id) const {
  const TokenType type_of_id = type(id);
  return type_of_id == TokenType::control || type_of_id == TokenType::user_defined || type_of_id == TokenType::unknown;
}

bool Vocabulary::strips_space_after(TokenId id) const {
  if (!is_phi3_ || !is_special(id)) return false;
  const std::string_view spelling = text(id);
  return spelling != "<unk>" && spelling != "<s>" && spelling != "<|endoftext|>";
}

std::vector<TokenId> Vocabulary::eog_tokens() const {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < token_count(); ++i) {
    if (is_eog_[i]) ids.push_back(static_cast<TokenId>(i));
  }
  return ids;
}

}  // namespace takt::text
