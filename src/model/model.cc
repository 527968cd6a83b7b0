#include "model/model.h"

#include <filesystem>

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

}  // namespace

contract::ModelShape model_shape(const gguf::File& file, const NetworkSpec& spec,
                                 const kernels::KernelSet& kernel_set) {
  contract::ModelShape shape;
  shape.name = file.path().empty() ? spec.architecture : std::filesystem::path(file.path()).stem().string();
  shape.architecture = spec.architecture;
  shape.layer_count = spec.layer_count;
  shape.embedding_length = spec.embedding_length;
  shape.vocabulary_size = spec.vocabulary_size;
  shape.context_train = spec.context_train;
  shape.page_tokens = kernels::kPageTokens;
  size_t page_bytes = 0;
  for (uint32_t layer = 0; layer < spec.layer_count; ++layer)
    page_bytes += kernel_set.kv_page_bytes(spec.attention_shape(layer));
  shape.kv_bytes_per_token = base::Bytes(static_cast<int64_t>(page_bytes / kernels::kPageTokens));
  add_matrix_sizes(file, shape);
  shape.numerics_version = std::string(kernel_set.name) + "/kv-f16/1";
  return shape;
}

base::Result<std::shared_ptr<const Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                      const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                                      const LoadProgress& progress) {
  auto spec = read_network_spec(*file);
  if (!spec) return spec.error();
  auto weights = load_weights(*file, *spec, kernel_set, pool, progress);
  if (!weights) return weights.error();
  auto model = std::make_shared<Model>();
  model->shape = model_shape(*file, *spec, kernel_set);
  model->file = std::move(file);
  model->kernel_set = &kernel_set;
  model->spec = std::move(spec).value();
  model->weights = std::move(weights).value();
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace takt::model
