// The weight formats of GGUF files that Takt computes on, and the geometry of their blocks.
// Source: the GGUF specification and block definitions (ggml `docs/gguf.md`, type ids as stored in files).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace takt::base {

enum class WeightFormat : uint8_t { f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };
inline constexpr int kWeightFormatCount = 11;

struct WeightFormatInfo {
  WeightFormat format;
  uint32_t gguf_type;      // the id stored in a tensor's info
  std::string_view name;   // as GGUF tools write it: "Q4_K"
  uint32_t block_weights;  // weights per block; a row length must be a multiple of it
  uint32_t block_bytes;
};

const WeightFormatInfo& info(WeightFormat format);
// The format of a type id of a GGUF file, or nothing when Takt does not compute on it.
std::optional<WeightFormat> weight_format_of_gguf_type(uint32_t gguf_type);
// Case-insensitive ("q4_k", "Q4_K").
std::optional<WeightFormat> weight_format_of_name(std::string_view name);

}  // namespace takt::base
