// Internal to gguf/: the tokenizer part of synthetic models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace takt::gguf {

// In the terms of the tokenizer.ggml.* keys.
struct SynthVocabulary {
  std::string model;  // "gpt2" (byte-level BPE) or "llama" (SPM)
  std::string pre;    // pre-tokenizer name
  std::vector<std::string> tokens;
  std::vector<int32_t> types;       // 1 normal, 2 unknown, 3 control, 6 byte
  std::vector<float> scores;        // SPM only
  std::vector<std::string> merges;  // BPE only
  uint32_t bos_id = 0;
  uint32_t eos_id = 0;
  bool is_bos_added = false;
  std::string chat_template;
};

// The 256 byte tokens, merges of frequent English letters, and three special tokens at the end. Precondition:
// 300 <= token_count <= 400000.
SynthVocabulary synth_bpe_vocabulary(uint32_t token_count, const std::string& pre, bool is_bos_added);

// Special tokens, 256 byte tokens, printable ASCII, and pieces made of frequent letters. Precondition as above, from
// 400.
SynthVocabulary synth_spm_vocabulary(uint32_t token_count);

}  // namespace takt::gguf
