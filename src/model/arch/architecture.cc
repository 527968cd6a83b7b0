#include "model/arch/architecture.h"

#include <cmath>

namespace takt::model {
namespace {

// Far above any model, far below what makes a product of two of them overflow int64.
constexpr uint32_t kWidthMax = 1 << 20;
constexpr uint32_t kLayerMax = 1024;

base::Error key_error(const gguf::File& file, const std::string& key, const std::string& what) {
  if (const gguf::Value* value = file.find(key)) return file.value_error(*value, what);
  return {base::ErrorCode::invalid_file, "metadata key '" + key + "' " + what};
}

// Sets `target` or returns the error. Keeps the readers below free of five-line blocks.
template <class T>
base::Status assign(T& target, base::Result<T> result) {
  if (!result) return result.error();
  target = std::move(result).value();
  return {};
}

base::Status read_sizes(const ArchitectureKeys& keys, NetworkSpec& spec) {
  const gguf::File& file = keys.file();
  for (auto status : {assign(spec.layer_count, keys.count("block_count", 1, kLayerMax)),
                      assign(spec.embedding_length, keys.count("embedding_length", 16, kWidthMax)),
                      assign(spec.feed_forward_length, keys.count("feed_forward_length", 16, kWidthMax)),
                      assign(spec.head_count, keys.count("attention.head_count", 1, kWidthMax)),
                      assign(spec.context_train, keys.count("context_length", 1, 1u << 30))})
    if (!status) return status;
  for (auto status :
       {assign(spec.kv_head_count, keys.count_or("attention.head_count_kv", 1, kWidthMax, spec.head_count)),
        assign(spec.head_dim, keys.count_or("attention.key_length", 16, 1024, spec.embedding_length / spec.head_count)),
        assign(spec.norm_eps, keys.number_or("attention.layer_norm_rms_epsilon", 0.0f, 1.0f, 1e-5f)),
        assign(spec.rope.base, keys.number_or("rope.freq_base", 1.0f, 1e12f, 10000.0f))})
    if (!status) return status;
  if (spec.head_count % spec.kv_head_count != 0)
    return key_error(file, keys.full("attention.head_count_kv"),
                     "must divide attention.head_count (" + std::to_string(spec.head_count) + ")");
  if (spec.head_dim < 16 || spec.head_dim % 16 != 0)
    return base::Error{base::ErrorCode::unsupported,
                       "a head size of " + std::to_string(spec.head_dim) + " is not supported (a multiple of 16 is)"};
  uint32_t value_length = spec.head_dim;
  if (auto status = assign(value_length, keys.count_or("attention.value_length", 1, kWidthMax, spec.head_dim)); !status)
    return status;
  if (value_length != spec.head_dim)
    return base::Error{base::ErrorCode::unsupported,
                       keys.full("attention.value_length") + " differs from the key length: not supported"};
  return {};
}

base::Status read_rope(const ArchitectureKeys& keys, NetworkSpec& spec) {
  if (auto status = assign(spec.rope_dim, keys.count_or("rope.dimension_count", 2, spec.head_dim, spec.head_dim));
      !status)
    return status;
  if (spec.rope_dim % 2 != 0) return key_error(keys.file(), keys.full("rope.dimension_count"), "must be even");
  auto scaling = keys.file().string_or(keys.full("rope.scaling.type"), "none");
  if (!scaling) return scaling.error();
  if (*scaling != "none" && *scaling != "linear")
    return base::Error{base::ErrorCode::unsupported,
                       "rope scaling '" + std::string(*scaling) + "' is not supported (none and linear are)"};
  float factor = 1.0f;
  if (auto status = assign(factor, keys.number_or("rope.scaling.factor", 0.0f, 1e6f, 1.0f)); !status) return status;
  if (*scaling == "linear" && factor > 0) spec.rope.position_scale = 1.0f / factor;
  spec.rope_window = spec.rope;
  spec.has_rope_factors = keys.file().find_tensor("rope_freqs.weight") != nullptr;
  return {};
}

// The embedding's second dimension is the truth about the vocabulary: keys may be missing.
base::Status read_vocabulary_size(const gguf::File& file, NetworkSpec& spec) {
  const gguf::Tensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr)
    return base::Error{base::ErrorCode::invalid_file,
                       "tensor 'token_embd.weight' is missing (is this a vocabulary-only file?)"};
  if (embedding->dim_count != 2 || embedding->dims[0] != spec.embedding_length || embedding->dims[1] > (1u << 24))
    return file.tensor_error(*embedding,
                             "must have the shape [" + std::to_string(spec.embedding_length) + ", vocabulary]");
  spec.vocabulary_size = static_cast<uint32_t>(embedding->dims[1]);
  return {};
}

std::string known_architectures() {
  std::string names;
  for (const Architecture& architecture : architectures())
    names += (names.empty() ? "" : ", ") + std::string(architecture.name);
  return names;
}

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> list = {
      {"llama", complete_llama},
      {"qwen2", complete_qwen2},
      {"gemma3", complete_gemma3},
  };
  return list;
}

base::Result<uint32_t> ArchitectureKeys::count(std::string_view key, uint32_t low, uint32_t high) const {
  auto value = file_.u32(full(key));
  if (!value) return value.error();
  if (*value < low || *value > high)
    return key_error(
        file_, full(key),
        "is " + std::to_string(*value) + ", expected " + std::to_string(low) + " to " + std::to_string(high));
  return *value;
}

base::Result<uint32_t> ArchitectureKeys::count_or(std::string_view key, uint32_t low, uint32_t high,
                                                  uint32_t fallback) const {
  return has(key) ? count(key, low, high) : base::Result<uint32_t>(fallback);
}

base::Result<float> ArchitectureKeys::number_or(std::string_view key, float low, float high, float fallback) const {
  auto value = file_.f32_or(full(key), fallback);
  if (!value) return value.error();
  if (!(*value >= low && *value <= high))
    return key_error(
        file_, full(key),
        "is " + std::to_string(*value) + ", expected " + std::to_string(low) + " to " + std::to_string(high));
  return *value;
}

bool ArchitectureKeys::has(std::string_view key) const { return file_.find(full(key)) != nullptr; }

base::Result<NetworkSpec> read_network_spec(const gguf::File& file) {
  auto name = file.string("general.architecture");
  if (!name) return name.error();
  for (const Architecture& architecture : architectures()) {
    if (architecture.name != *name) continue;
    NetworkSpec spec;
    spec.architecture = *name;
    const ArchitectureKeys keys(file, *name);
    if (auto status = read_sizes(keys, spec); !status) return status.error();
    if (auto status = read_rope(keys, spec); !status) return status.error();
    if (auto status = read_vocabulary_size(file, spec); !status) return status.error();
    spec.attention_scale = 1.0f / std::sqrt(static_cast<float>(spec.head_dim));
    spec.layer_is_window.assign(spec.layer_count, false);
    if (auto status = architecture.complete(file, spec); !status) return status.error();
    return spec;
  }
  return base::Error{base::ErrorCode::unsupported,
                     "architecture '" + std::string(*name) + "' is not known (known: " + known_architectures() + ")"};
}

}  // namespace takt::model
