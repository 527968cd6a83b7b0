// Internal to gguf/: the bytes of one file to checked values and tensors. file.h is the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/tensor.h"
#include "gguf/value.h"

namespace takt::gguf {

struct ParsedPart {
  uint32_t version = 0;
  std::vector<Value> values;    // file order
  std::vector<Tensor> tensors;  // file order
  uint64_t alignment_bytes = 32;
  uint64_t data_offset = 0;  // where the tensor data section starts
};

// Longest accepted names. A tensor's 64 bytes is the specification's bound; a key's is 65535.
inline constexpr uint64_t kTensorNameBytesMax = 64;
inline constexpr uint64_t kKeyBytesMax = 65535;
// Alignment is a power of two in these bounds (the specification asks for a multiple of 8; real files use 32).
inline constexpr uint64_t kAlignmentBytesMin = 8;
inline constexpr uint64_t kAlignmentBytesMax = 65536;

// Checks everything that can be checked without knowing the model: counts, lengths, types, alignment, names, products
// of dimensions, and that tensors lie inside the file and do not overlap. Views point into `bytes`. Time O(n log n)
// in the bytes' length; memory at most about twenty times the bytes that were read before the end or the error.
// Errors: invalid_file and unsupported, naming key or tensor and byte offset; may throw std::bad_alloc.
base::Result<ParsedPart> parse_part(std::span<const std::byte> bytes);

// A name for a message: quoted, non-printing bytes as \xNN, cut after 80 bytes.
std::string quote(std::string_view name);

}  // namespace takt::gguf
