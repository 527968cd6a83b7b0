#include <string>

#include "kernels/shared/row_decode.h"
#include "model/weights/weights.h"

namespace takt::model {
namespace {

std::string shape_text(uint64_t a, uint64_t b) { return "[" + std::to_string(a) + ", " + std::to_string(b) + "]"; }

std::string shape_text(const gguf::Tensor& tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.dim_count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.dims[i]);
  return text + "]";
}

// Loads one file's tensors. Its members are what every step needs; a failed step leaves the error in the Status.
class Loader {
 public:
  // Without a kernel set it only checks.
  Loader(const gguf::File& file, const NetworkSpec& spec, const kernels::KernelSet* kernel_set, base::ThreadPool* pool,
         const LoadProgress& progress)
      : file_(file), spec_(spec), kernel_set_(kernel_set), pool_(pool), progress_(progress) {
    for (const gguf::Tensor& tensor : file.tensors()) bytes_total_ += static_cast<int64_t>(tensor.bytes.size());
  }

  base::Result<Weights> load() {
    if (auto status = load_ends(); !status) return status.error();
    weights_.layers.resize(spec_.layer_count);
    for (uint32_t layer = 0; layer < spec_.layer_count; ++layer)
      if (auto status = load_layer(layer); !status) return status.error();
    return std::move(weights_);
  }

 private:
  base::Status load_ends() {
    const int64_t width = spec_.embedding_length;
    auto embedding = find("token_embd.weight", width, spec_.vocabulary_size);
    if (!embedding) return embedding.error();
    const base::WeightFormat format = *(*embedding)->format();
    weights_.embedding = {format, (*embedding)->bytes.data(), (*embedding)->bytes.size() / spec_.vocabulary_size,
                          width};
    const bool is_tied = file_.find_tensor("output.weight") == nullptr;
    if (auto status =
            matrix(is_tied ? "token_embd.weight" : "output.weight", width, spec_.vocabulary_size, weights_.output);
        !status)
      return status;
    if (spec_.has_rope_factors)
      if (auto status = vector("rope_freqs.weight", spec_.rope_dim / 2, weights_.rope_factors); !status) return status;
    return vector("output_norm.weight", width, weights_.output_norm);
  }

  base::Status load_layer(uint32_t index) {
    const std::string prefix = "blk." + std::to_string(index) + ".";
    LayerWeights& layer = weights_.layers[index];
    const int64_t width = spec_.embedding_length, hidden = spec_.feed_forward_length;
    const int64_t q_width = int64_t{spec_.head_count} * spec_.head_dim,
                  kv_width = int64_t{spec_.kv_head_count} * spec_.head_dim;
    for (auto status : {vector(prefix + "attn_norm.weight", width, layer.attention_norm),
                        matrix(prefix + "attn_q.weight", width, q_width, layer.q),
                        matrix(prefix + "attn_k.weight", width, kv_width, layer.k),
                        matrix(prefix + "attn_v.weight", width, kv_width, layer.v),
                        matrix(prefix + "attn_output.weight", q_width, width, layer.attention_output),
                        optional_vector(prefix + "attn_q.bias", q_width, layer.q_bias),
                        optional_vector(prefix + "attn_k.bias", kv_width, layer.k_bias),
                        optional_vector(prefix + "attn_v.bias", kv_width, layer.v_bias),
                        optional_vector(prefix + "attn_output.bias", width, layer.attention_output_bias),
                        vector(prefix + "ffn_norm.weight", width, layer.feed_forward_norm),
                        matrix(prefix + "ffn_gate.weight", width, hidden, layer.gate),
                        matrix(prefix + "ffn_up.weight", width, hidden, layer.up),
                        matrix(prefix + "ffn_down.weight", hidden, width, layer.down)})
      if (!status) return status;
    if (spec_.has_qk_norm)
      for (auto status : {vector(prefix + "attn_q_norm.weight", spec_.head_dim, layer.q_norm),
                          vector(prefix + "attn_k_norm.weight", spec_.head_dim, layer.k_norm)})
        if (!status) return status;
    if (spec_.has_post_norms)
      for (auto status : {vector(prefix + "post_attention_norm.weight", width, layer.post_attention_norm),
                          vector(prefix + "post_ffw_norm.weight", width, layer.post_feed_forward_norm)})
        if (!status) return status;
    return {};
  }

  // A tensor of rows [n] × [k] that the kernels can read.
  base::Result<const gguf::Tensor*> find(const std::string& name, int64_t k, int64_t n) {
    const gguf::Tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr) return base::Error{base::ErrorCode::invalid_file, "tensor '" + name + "' is missing"};
    const bool is_vector = tensor->dim_count == 1 && n == 1;
    if ((tensor->dim_count != 2 && !is_vector) || tensor->dims[0] != static_cast<uint64_t>(k) ||
        tensor->dims[1] != static_cast<uint64_t>(n))
      return file_.tensor_error(*tensor, "has the shape " + shape_text(*tensor) + ", expected " +
                                             shape_text(static_cast<uint64_t>(k), static_cast<uint64_t>(n)));
    if (!tensor->format())
      return base::Error{base::ErrorCode::unsupported, "tensor '" + name + "' has the type " +
                                                           gguf::tensor_type_name(tensor->type) +
                                                           ", which is not supported yet"};
    return tensor;
  }

  base::Status vector(const std::string& name, int64_t count, std::vector<float>& out) {
    auto tensor = find(name, count, 1);
    if (!tensor) return tensor.error();
    if (kernel_set_ == nullptr) return {};
    out.resize(static_cast<size_t>(count));
    kernels::decode_row(*(*tensor)->format(), (*tensor)->bytes.data(), count, out.data());
    report((*tensor)->bytes.size());
    return {};
  }

  base::Status optional_vector(const std::string& name, int64_t count, std::vector<float>& out) {
    return file_.find_tensor(name) == nullptr ? base::Status{} : vector(name, count, out);
  }

  base::Status matrix(const std::string& name, int64_t k, int64_t n, Matrix& out) {
    auto found = find(name, k, n);
    if (!found) return found.error();
    if (kernel_set_ == nullptr) return {};
    const gguf::Tensor& tensor = **found;
    const base::WeightFormat format = *tensor.format();
    out.packed = {format, n, k, tensor.bytes.data()};
    out.activation = kernel_set_->activation_kind(format);
    if (const size_t bytes = kernel_set_->packed_bytes(format, n, k); bytes > 0) {
      auto buffer = Buffer::allocate(bytes);
      if (!buffer) return base::Error{buffer.error().code, "tensor '" + name + "': " + buffer.error().message};
      std::byte* packed = buffer->data();
      pool_->split(kernels::panel_count(n), [&](int64_t begin, int64_t end, int) {
        kernel_set_->pack(format, tensor.bytes.data(), n, k, begin, end, packed);
      });
      file_.advise_dont_need(tensor.bytes);
      out.packed.data = packed;
      weights_.packed_bytes += base::Bytes(static_cast<int64_t>(bytes));
      weights_.buffers.push_back(std::move(buffer).value());
    }
    report(tensor.bytes.size());
    return {};
  }

  void report(size_t bytes) {
    bytes_done_ += static_cast<int64_t>(bytes);
    if (progress_) progress_(bytes_done_, bytes_total_);
  }

  const gguf::File& file_;
  const NetworkSpec& spec_;
  const kernels::KernelSet* kernel_set_;
  base::ThreadPool* pool_;
  const LoadProgress& progress_;
  Weights weights_;
  int64_t bytes_done_ = 0;
  int64_t bytes_total_ = 0;
};

}  // namespace

void EmbeddingTable::read_row(int32_t token, float* out) const {
  kernels::decode_row(format, rows + static_cast<size_t>(token) * row_bytes, embedding_length, out);
}

base::Result<Weights> load_weights(const gguf::File& file, const NetworkSpec& spec,
                                   const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                   const LoadProgress& progress) {
  return Loader(file, spec, &kernel_set, &pool, progress).load();
}

base::Status check_weights(const gguf::File& file, const NetworkSpec& spec) {
  const LoadProgress no_progress;
  auto weights = Loader(file, spec, nullptr, nullptr, no_progress).load();
  return weights ? base::Status{} : base::Status(weights.error());
}

}  // namespace takt::model
