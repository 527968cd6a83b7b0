// A model ready to execute: the file it came from, what the network is, and its weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/kv_format.h"
#include "base/thread_pool.h"
#include "contract/model_shape.h"
#include "gguf/file.h"
#include "kernels/kernel_set.h"
#include "model/network_spec.h"
#include "model/weights/weights.h"

namespace takt::model {

struct Model {
  std::shared_ptr<const gguf::File> file;
  const kernels::KernelSet* kernel_set = nullptr;
  NetworkSpec spec;
  base::KvFormats kv;                     // as asked for
  std::vector<base::KvFormats> layer_kv;  // [layer_count], layer_kv_formats()
  Weights weights;
  contract::ModelShape shape;

  kernels::AttentionShape attention_shape(uint32_t layer) const { return spec.attention_shape(layer, layer_kv[layer]); }
};

// A key bias above this keeps a layer's keys in f16 where q8_0 is asked for. The bias is a constant that outgrows what tokens
// add to it, and both the rounding of a vector and the distance of scores grow with its largest value. At 8, the steps of q8_0 on the
// bias alone are 8 / 127 = 0.06, where f16's own are 0.004. Measured: docs/decisions/0003-kv-formats.md.
inline constexpr float kKeyBiasMax = 8.0f;

// The formats of each layer: `kv`, but for keys that q8_0 would spoil (kKeyBiasMax).
std::vector<base::KvFormats> layer_kv_formats(const gguf::File& file, const NetworkSpec& spec, base::KvFormats kv);

// The planning sizes of a network; needs no weights in memory. kv: as in load_model().
contract::ModelShape model_shape(const gguf::File& file, const NetworkSpec& spec, const kernels::KernelSet& kernel_set,
                                 std::optional<base::KvFormats> kv = {});

// Whether the kernel set can keep this network's keys and values so. Errors: invalid_argument, with the reason.
base::Status check_kv_formats(const NetworkSpec& spec, const kernels::KernelSet& kernel_set, base::KvFormats kv);

// Loads and packs. The file must stay open: embedding rows are read from it. kv: the formats of keys and values; nothing: the set's
// own. Errors: those of the file, and of check_kv_formats().
base::Result<std::shared_ptr<const Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                      const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                                      const LoadProgress& progress = {},
                                                      std::optional<base::KvFormats> kv = {});

}  // namespace takt::model
