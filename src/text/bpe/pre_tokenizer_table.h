// Which rules split text into words before byte-level BPE merges, by the name in `tokenizer.ggml.pre`.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace takt::text::bpe {

struct PreTokenizerSpec {
  // Applied one after another: each pattern cuts every piece left by the one before into its matches and what lies between.
  // PCRE2 syntax; \s and \S mean Unicode's White_Space.
  std::span<const std::string_view> patterns;
  // A word that is itself a token is that token, even where merging would not lead to it.
  bool is_whole_word_first = false;
  // Whether prompts begin with BOS when the file does not say.
  bool add_bos = false;
};

// Errors: unsupported, naming the name and the known ones. An empty name is an error as well: the rule would be a guess, and a
// wrong rule gives wrong tokens without a sign.
base::Result<const PreTokenizerSpec*> find_pre_tokenizer(std::string_view name);

// All names, in the order of the table.
std::span<const std::string_view> pre_tokenizer_names();

}  // namespace takt::text::bpe
