#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/shared/row_decode.h"
#include "model/arch/architecture.h"

namespace takt::model {
namespace {

// Weights and bytes of the matrices that every row meets, by the tensors' names.
void add_matrix_sizes(const gguf::File& file, contract::ModelShape& shape) {
  const gguf::Tensor* output = file.find_tensor("output.weight");
  if (output == nullptr) output = file.find_tensor("token_embd.weight");
  if (output != nullptr) {
    shape.weights_output = static_cast<int64_t>(output->weight_count);
    shape.weight_bytes += base::Bytes(static_cast<int64_t>(output->bytes.size()));
  }
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (tensor.dim_count != 2 || !tensor.name.starts_with("blk.")) continue;
    shape.weights_linear += static_cast<int64_t>(tensor.weight_count);
    shape.weight_bytes += base::Bytes(static_cast<int64_t>(tensor.bytes.size()));
  }
}

// The largest magnitude of a layer's key bias; 0: it has none. A tensor that cannot be read is reported when weights are loaded.
float key_bias_magnitude(const gguf::File& file, uint32_t layer) {
  const gguf::Tensor* tensor = file.find_tensor("blk." + std::to_string(layer) + ".attn_k.bias");
  if (tensor == nullptr || !tensor->is_size_known || tensor->format() != base::WeightFormat::f32) return 0;
  std::vector<float> bias(static_cast<size_t>(tensor->weight_count));
  kernels::decode_row(base::WeightFormat::f32, tensor->bytes.data(), static_cast<int64_t>(tensor->weight_count),
                      bias.data());
  float most = 0;
  for (float value : bias) most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace

std::vector<base::KvFormats> layer_kv_formats(const gguf::File& file, const NetworkSpec& spec, base::KvFormats kv) {
  std::vector<base::KvFormats> layers(spec.layer_count, kv);
  if (kv.keys != base::KvFormat::q8_0) return layers;
  for (uint32_t layer = 0; layer < spec.layer_count; ++layer)
    if (key_bias_magnitude(file, layer) > kKeyBiasMax) layers[layer].keys = base::KvFormat::f16;
  return layers;
}

contract::ModelShape model_shape(const gguf::File& file, const NetworkSpec& spec, const kernels::KernelSet& kernel_set,
                                 std::optional<base::KvFormats> kv) {
  contract::ModelShape shape;
  shape.name = file.path().empty() ? spec.architecture : std::filesystem::path(file.path()).stem().string();
  shape.architecture = spec.architecture;
  shape.layer_count = spec.layer_count;
  shape.embedding_length = spec.embedding_length;
  shape.vocabulary_size = spec.vocabulary_size;
  shape.context_train = spec.context_train;
  shape.page_tokens = kernels::kPageTokens;
  const base::KvFormats formats = kv.value_or(kernel_set.kv_default);
  const std::vector<base::KvFormats> layers = layer_kv_formats(file, spec, formats);
  size_t page_bytes = 0;
  for (uint32_t layer = 0; layer < spec.layer_count; ++layer)
    page_bytes += kernel_set.kv_page_bytes(spec.attention_shape(layer, layers[layer]));
  shape.kv_bytes_per_token = base::Bytes(static_cast<int64_t>(page_bytes / kernels::kPageTokens));
  add_matrix_sizes(file, shape);
  shape.numerics_version = std::string(kernel_set.name) + "/kv-" + base::kv_formats_name(formats) + "/2";
  return shape;
}

base::Status check_kv_formats(const NetworkSpec& spec, const kernels::KernelSet& kernel_set, base::KvFormats kv) {
  for (uint32_t layer = 0; layer < spec.layer_count; ++layer)
    if (const char* reason = kernel_set.kv_refusal(spec.attention_shape(layer, kv)))
      return base::Error{base::ErrorCode::invalid_argument, "the KV format " + base::kv_formats_name(kv) +
                                                                " does not go with the kernels " +
                                                                std::string(kernel_set.name) + " and a head size of " +
                                                                std::to_string(spec.head_dim) + ": " + reason};
  return {};
}

base::Result<std::shared_ptr<const Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                      const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                                      const LoadProgress& progress, std::optional<base::KvFormats> kv) {
  auto spec = read_network_spec(*file);
  if (!spec) return spec.error();
  const base::KvFormats formats = kv.value_or(kernel_set.kv_default);
  if (auto status = check_kv_formats(*spec, kernel_set, formats); !status) return status.error();
  auto weights = load_weights(*file, *spec, kernel_set, pool, progress);
  if (!weights) return weights.error();
  auto model = std::make_shared<Model>();
  model->shape = model_shape(*file, *spec, kernel_set, formats);
  model->layer_kv = layer_kv_formats(*file, *spec, formats);
  model->file = std::move(file);
  model->kernel_set = &kernel_set;
  model->kv = formats;
  model->spec = std::move(spec).value();
  model->weights = std::move(weights).value();
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace takt::model
