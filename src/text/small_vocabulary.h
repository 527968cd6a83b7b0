// Two vocabularies small enough to follow by hand, for tests and fuzzing.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe/byte_map.h"
#include "text/vocabulary_data.h"

namespace takt::text {

// The spelling of bytes in a byte-level BPE vocabulary.
inline std::string spell(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const uint32_t character = bpe::character_of_byte(static_cast<uint8_t>(byte));
    if (character >= 0x80) out.push_back(static_cast<char>(0xC0 | character >> 6));
    out.push_back(static_cast<char>(character < 0x80 ? character : 0x80 | (character & 0x3F)));
  }
  return out;
}

// Byte-level BPE. Ids 0 to 255 are the bytes, 256 on the results of the merges in order, then the special tokens:
// <|begin|> (BOS), <|im_end|> (ends generation), <tool> (user-defined).
inline VocabularyData small_bpe_vocabulary(std::string pre = "gpt-2") {
  VocabularyData data;
  data.model = "gpt2";
  data.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte) data.tokens.push_back(spell(std::string(1, static_cast<char>(byte))));
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"l", "l"},   {"h", "e"},   {"ll", "o"},  {"he", "llo"},    {" ", "w"},
      {"o", "r"},   {" w", "or"}, {"l", "d"},   {" wor", "ld"},   {"a", "a"},
      {"aa", "aa"}, {" ", " "},   {"  ", "  "}, {"\xC3", "\xA9"}, {"\xF0\x9F", "\x98"}};
  for (const auto& [left, right] : merges) {
    data.merges.push_back(spell(left) + " " + spell(right));
    data.tokens.push_back(spell(left + right));
  }
  data.token_types.assign(data.tokens.size(), TokenType::normal);
  const auto add_special = [&](std::string text, TokenType type) {
    data.tokens.push_back(std::move(text));
    data.token_types.push_back(type);
    return static_cast<TokenId>(data.tokens.size() - 1);
  };
  data.bos = add_special("<|begin|>", TokenType::control);
  data.add_bos = true;
  data.eos = add_special("<|im_end|>", TokenType::control);
  add_special("<tool>", TokenType::user_defined);
  return data;
}

// SPM. 0 <unk>, 1 <s>, 2 </s>, 3 to 258 the bytes, then pieces, the better ones first, then <tool> (user-defined).
inline VocabularyData small_spm_vocabulary() {
  VocabularyData data;
  data.model = "llama";
  const auto add = [&](std::string text, TokenType type, float score) {
    data.tokens.push_back(std::move(text));
    data.token_types.push_back(type);
    data.scores.push_back(score);
    return static_cast<TokenId>(data.tokens.size() - 1);
  };
  data.unknown = add("<unk>", TokenType::unknown, 0);
  data.bos = add("<s>", TokenType::control, 0);
  data.eos = add("</s>", TokenType::control, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    add(text, TokenType::byte, 0);
  }
  float score = 0;
  for (const char* piece : {"ll",
                            "he",
                            "llo",
                            "hello",
                            "\xE2\x96\x81\xE2\x96\x81",
                            "\xE2\x96\x81h",
                            "aa",
                            "aaaa",
                            "<s",
                            "\xE2\x96\x81",
                            "h",
                            "e",
                            "l",
                            "o",
                            "a",
                            "<",
                            "s",
                            ">",
                            "/",
                            "w",
                            "\xC3\xA9"}) {
    add(piece, TokenType::normal, score -= 1);
  }
  add("<tool>", TokenType::user_defined, 0);
  return data;
}

}  // namespace takt::text
