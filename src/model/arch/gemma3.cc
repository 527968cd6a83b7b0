#include <cmath>

#include "model/arch/architecture.h"

namespace takt::model {
namespace {

constexpr uint32_t kWindowPattern = 6;  // five window layers, then one that sees everything
constexpr float kWindowRopeBase = 10000.0f;
constexpr uint32_t kLayersOf27B = 62;  // the one size whose scale comes from the width per head

}  // namespace

// Gemma 3 (text): scaled embeddings, norms before and after each half of a block, q and k norms, GELU, window layers with
// a RoPE base of their own.
base::Status complete_gemma3(const gguf::File& file, NetworkSpec& spec) {
  const ArchitectureKeys keys(file, spec.architecture);
  auto window = keys.count_or("attention.sliding_window", 1, 1u << 20, 0);
  auto pattern = keys.count_or("attention.sliding_window_pattern", 1, 1u << 10, kWindowPattern);
  auto window_base = keys.number_or("rope.freq_base_swa", 1.0f, 1e12f, kWindowRopeBase);
  auto softcap = keys.number_or("final_logit_softcapping", 0.0f, 1e6f, 0.0f);
  for (const auto* result : {&window, &pattern})
    if (!*result) return result->error();
  for (const auto* result : {&window_base, &softcap})
    if (!*result) return result->error();
  spec.rope_pairs = kernels::RopePairs::halves;
  spec.embedding_scale = std::sqrt(static_cast<float>(spec.embedding_length));
  spec.activation = FeedForwardActivation::gelu_tanh;
  spec.has_qk_norm = true;
  spec.has_post_norms = true;
  spec.logit_softcap = *softcap;
  spec.rope_window.base = *window_base;
  spec.rope_window.position_scale = 1.0f;  // only the layers that see everything are stretched
  spec.window = *window;
  for (uint32_t layer = 0; layer < spec.layer_count; ++layer)
    spec.layer_is_window[layer] = spec.window > 0 && (layer + 1) % *pattern != 0;
  if (spec.layer_count == kLayersOf27B)
    spec.attention_scale =
        1.0f / std::sqrt(static_cast<float>(spec.embedding_length) / static_cast<float>(spec.head_count));
  return {};
}

}  // namespace takt::model
