// A model's weights as the kernels read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "gguf/file.h"
#include "kernels/kernel_set.h"
#include "model/network_spec.h"

namespace takt::model {

// Memory straight from the system: 64-byte aligned, zero, given back at the end. Move-only.
class Buffer {
 public:
  Buffer() = default;
  // Errors: out_of_memory with the size.
  static base::Result<Buffer> allocate(size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A matrix [n, k] of a linear layer.
struct Matrix {
  kernels::PackedMatrix packed;
  kernels::ActivationKind activation = kernels::ActivationKind::f32;
};

// Empty vectors: the network has no such tensor.
struct LayerWeights {
  std::vector<float> attention_norm;  // [embedding_length]
  Matrix q, k, v, attention_output;
  std::vector<float> q_bias, k_bias, v_bias, attention_output_bias;
  std::vector<float> q_norm, k_norm;       // [head_dim]
  std::vector<float> post_attention_norm;  // [embedding_length]
  std::vector<float> feed_forward_norm;    // [embedding_length]
  Matrix gate, up, down;
  std::vector<float> post_feed_forward_norm;
};

// Rows of the token embedding, read from the file as they are needed.
struct EmbeddingTable {
  base::WeightFormat format = base::WeightFormat::f32;
  const std::byte* rows = nullptr;  // [vocabulary_size, embedding_length]
  size_t row_bytes = 0;
  int64_t embedding_length = 0;
  // Decodes one row. Precondition: token in range.
  void read_row(int32_t token, float* out) const;
};

struct Weights {
  EmbeddingTable embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;
  Matrix output;                    // the embedding again when the file has no output matrix
  std::vector<float> rope_factors;  // [rope_dim / 2] or empty
  std::vector<Buffer> buffers;      // what the packed matrices point into
  base::Bytes packed_bytes;         // memory held by `buffers`
};

// Whether the file has every tensor that the network needs, with the right shape and a format that Takt computes on. Reads no
// weights. Errors as load_weights.
base::Status check_weights(const gguf::File& file, const NetworkSpec& spec);

// (bytes packed so far, bytes in all). Called from the loading thread.
using LoadProgress = std::function<void(int64_t, int64_t)>;

// Finds, checks (shape, format) and packs every tensor that the network needs; gives the file's pages back to the system as it
// goes, so that memory stays near one copy. Errors: unsupported (a tensor's type, named), invalid_file (missing tensor or a wrong
// shape, with both shapes), out_of_memory.
base::Result<Weights> load_weights(const gguf::File& file, const NetworkSpec& spec,
                                   const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                   const LoadProgress& progress);

}  // namespace takt::model
