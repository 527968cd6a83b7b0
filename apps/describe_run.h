// How Takt would run a model file: kernels per weight format, and the memory for a context length.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "gguf/file.h"
#include "kernels/kernel_set.h"

namespace takt::apps {

// Lines for a person; says why when the file cannot be run (a vocabulary only, an unknown architecture or type).
std::string describe_run(const gguf::File& file, const kernels::KernelSet& kernel_set, base::KvFormats kv,
                         uint32_t context_tokens);

// The same as an object: {"can_run", "why_not"} or {"can_run", "kernels", "formats": [{"type", "activations", "packed_bytes"}],
// "weight_bytes", "context_tokens", "kv_keys", "kv_values", "kv_keys_f16_layers", "kv_bytes_per_token", "kv_bytes"}.
boost::json::object describe_run_json(const gguf::File& file, const kernels::KernelSet& kernel_set, base::KvFormats kv,
                                      uint32_t context_tokens);

}  // namespace takt::apps
