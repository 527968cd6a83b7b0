#include "model/arch/architecture.h"

namespace takt::model {

// Qwen 2 and 2.5: as llama, but RoPE on halves and biases on q, k and v (found by their tensors).
base::Status complete_qwen2(const gguf::File&, NetworkSpec& spec) {
  spec.rope_pairs = kernels::RopePairs::halves;
  return {};
}

}  // namespace takt::model
