// Synthetic model files: valid GGUF of real architectures and shapes with seeded random weights. They need no
// download, so tests run on them everywhere, and full-size ones serve benchmarks. The same seed gives the same bytes
// on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace takt::gguf {

struct SynthSpec {
  std::string like = "llama-3.1-8b";  // one of synth_model_names()
  std::string quant = "Q4_K";         // one of the eleven formats, or "Q4_K_M"; case does not matter
  // Two to four layers, width 256, head dimension 64, 512 tokens; gemma3 with windows of 16 and every second layer
  // global. Full-size models have the shapes and vocabulary sizes of the model they are named after.
  bool is_tiny = false;
  uint64_t seed = 1;
  int thread_count = 1;
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress = nullptr;  // called about every 16 MB
};

// "llama-3.1-8b", "smollm2-135m", "qwen2.5-0.5b", "qwen2.5-1.5b", "gemma3-270m".
std::vector<std::string_view> synth_model_names();
// "F32", …, "Q6_K", "Q4_K_M".
std::vector<std::string_view> synth_quant_names();

// Writes the file; `path` appears only when it is complete. Errors: invalid_argument (unknown name or quant), io.
//
// What is random: weights of a matrix are near-normal with a deviation of gain / √(inputs), the gain chosen so that
// nothing is idle: attention scores have a deviation of about 2.5 (neither uniform nor one-hot), query and key biases
// are as large as what they are added to, norm weights scatter by 30 % around their mean, and logits have a deviation
// of about 2.5. The output norm has random signs, because with tied embeddings a positive one would make every token
// predict itself. The underlying numbers depend on seed and tensor name only, not on the format: files of one seed in
// two formats differ by quantisation alone. Matrices whose rows are no multiple of 256 fall back as in common files:
// Q4_K to Q5_0, Q5_K to Q5_1, Q6_K to Q8_0.
base::Status write_synthetic(const SynthSpec& spec, const std::string& path);

}  // namespace takt::gguf
