// The sizes of a model and its KV cache that planning needs; no tensor, no file.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace takt::contract {

struct ModelShape {
  std::string name;          // the file's, without folder and ending: what people call it
  std::string architecture;  // "llama", "qwen2", "gemma3"
  uint32_t layer_count = 0;
  uint32_t embedding_length = 0;
  uint32_t vocabulary_size = 0;
  uint32_t context_train = 0;      // context length the file declares, tokens
  uint32_t page_tokens = 32;       // token positions in a KV page
  base::Bytes kv_bytes_per_token;  // all layers, keys and values
  base::Bytes weight_bytes;        // read by one decode step with one row
  int64_t weights_linear = 0;      // weights that meet every prompt token (the output matrix excluded)
  int64_t weights_output = 0;      // weights of the output matrix
  std::string numerics_version;    // ISA, KV format and kernel choice: part of every key that shares results
};

// The KV memory and row limits that the scheduler plans within.
struct Capacity {
  uint32_t page_count = 0;
  uint32_t page_tokens = 32;
  uint32_t context_tokens = 0;  // positions a request may have at most, prompt and output
  uint32_t rows_max = 64;       // decoding requests at once
  uint32_t waiting_requests_max = 512;
  base::Tokens waiting_tokens_max{1 << 20};
  uint32_t step_tokens_max = 512;  // tokens evaluated in one step at most
  // Prompt tokens in a step that also has decode rows; 0: as many as keep the decode rows inside their limits, by what
  // steps were measured to take.
  uint32_t chunk_tokens_beside_decode = 0;
  bool has_prefix_cache = false;  // pages of evaluated tokens are kept and shared: scheduler/pages/prefix_cache.h
};

}  // namespace takt::contract
