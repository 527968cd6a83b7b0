// One tensor of a GGUF file: its shape, its type, and a view of its bytes in the mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/weight_format.h"

namespace takt::gguf {

// The block geometry of a tensor type that files may hold: wider than base::WeightFormat, so that sizes can be
// checked and shown for types that Takt does not compute on. Source of ids and sizes: the GGUF specification's type
// list.
struct TensorTypeInfo {
  uint32_t type;
  std::string_view name;
  uint32_t block_weights;
  uint32_t block_bytes;
};

// Nothing for an id that this table does not have.
std::optional<TensorTypeInfo> tensor_type_info(uint32_t type);
// "Q4_K", or "type 77" for an unknown id.
std::string tensor_type_name(uint32_t type);

struct Tensor {
  std::string_view name;
  uint32_t type = 0;                // the id in the file; may be unknown
  int dim_count = 0;                // 1…4
  uint64_t dims[4] = {1, 1, 1, 1};  // dims[0] is the row length (contiguous weights); each at least 1
  uint64_t weight_count = 0;        // product of dims
  // The stored blocks, inside the mapping. Empty when is_size_known is false: then nothing bounds the tensor but its
  // start, and whoever loads a model refuses it by name.
  std::span<const std::byte> bytes;
  bool is_size_known = false;
  uint64_t offset = 0;       // of the first data byte in its file
  uint64_t info_offset = 0;  // of the tensor's entry in its file
  int part = 0;              // which file of a split set

  // The format when Takt computes on it.
  std::optional<base::WeightFormat> format() const { return base::weight_format_of_gguf_type(type); }
};

}  // namespace takt::gguf
