// What a tokenizer is made from: the `tokenizer.ggml.*` keys of a GGUF file as plain values, or a test's own few lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/ids.h"

namespace takt::text {

using contract::TokenId;

// The numbers are those of `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct VocabularyData {
  std::string model;       // "gpt2" (byte-level BPE) or "llama" (SPM)
  std::string pre;         // name of the pre-tokenizer; BPE only
  std::string model_name;  // `general.name`: Phi-3 is known by it alone, see Vocabulary::strips_space_after()

  std::vector<std::string> tokens;
  std::vector<float> scores;           // SPM: one a token, higher merges first. BPE: empty
  std::vector<TokenType> token_types;  // one a token, or empty: all normal
  std::vector<std::string> merges;     // BPE: "left right", best first

  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;
  std::optional<TokenId> eom;
  std::optional<TokenId> unknown;
  std::optional<TokenId> padding;

  std::optional<bool> add_bos;           // absent: the default of the model and pre-tokenizer
  std::optional<bool> add_eos;           // absent: no
  std::optional<bool> add_space_prefix;  // SPM; absent: yes
};

}  // namespace takt::text
