// The architectures Takt knows, and how each reads its NetworkSpec from a file's metadata.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/file.h"
#include "model/network_spec.h"

namespace takt::model {

struct Architecture {
  std::string_view name;  // general.architecture
  // Completes a spec whose common part (see read_network_spec) is filled. Errors name the key.
  base::Status (*complete)(const gguf::File& file, NetworkSpec& spec);
};

// The one list. An unknown architecture is refused with these names.
const std::vector<Architecture>& architectures();

// Reads and checks everything: ranges that the kernels need (head_dim a multiple of 16, heads divisible by kv heads, …) and sizes that
// multiply without overflow. Errors: unsupported (architecture or feature, named), invalid_file (a key).
base::Result<NetworkSpec> read_network_spec(const gguf::File& file);

// Metadata of this architecture: key "NAME" is looked up as "<architecture>.NAME".
class ArchitectureKeys {
 public:
  ArchitectureKeys(const gguf::File& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}
  // Required, and in [low, high].
  base::Result<uint32_t> count(std::string_view key, uint32_t low, uint32_t high) const;
  // `fallback` when the key is absent.
  base::Result<uint32_t> count_or(std::string_view key, uint32_t low, uint32_t high, uint32_t fallback) const;
  base::Result<float> number_or(std::string_view key, float low, float high, float fallback) const;
  bool has(std::string_view key) const;
  std::string full(std::string_view key) const { return prefix_ + std::string(key); }
  const gguf::File& file() const { return file_; }

 private:
  const gguf::File& file_;
  std::string prefix_;
};

// Per architecture, in its own file.
base::Status complete_llama(const gguf::File& file, NetworkSpec& spec);
base::Status complete_qwen2(const gguf::File& file, NetworkSpec& spec);
base::Status complete_gemma3(const gguf::File& file, NetworkSpec& spec);

}  // namespace takt::model
