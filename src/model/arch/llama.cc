#include "model/arch/architecture.h"

namespace takt::model {

// Llama 1 to 3, Mistral 7B, SmolLM and others: adjacent RoPE pairs (the converter permuted q and k), optional biases.
base::Status complete_llama(const gguf::File& file, NetworkSpec& spec) {
  const ArchitectureKeys keys(file, spec.architecture);
  auto experts = keys.count_or("expert_count", 0, 1u << 20, 0);
  if (!experts) return experts.error();
  if (*experts > 0)
    return base::Error{base::ErrorCode::unsupported,
                       "mixture of experts (" + keys.full("expert_count") + ") is not supported yet"};
  spec.rope_pairs = kernels::RopePairs::adjacent;
  auto scale = keys.number_or("attention.scale", 0.0f, 100.0f, spec.attention_scale);
  if (!scale) return scale.error();
  if (*scale > 0) spec.attention_scale = *scale;
  return {};
}

}  // namespace takt::model
