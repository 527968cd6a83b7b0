// A GGUF model file (or a split set of them), memory-mapped, with everything checked that can be checked without
// knowing the model. Views stay valid as long as the File lives.
//
//   auto file = gguf::File::open("model.gguf");
//   if (!file) return file.error();
//   auto layer_count = (*file)->u32("llama.block_count");
//   const gguf::Tensor* embedding = (*file)->find_tensor("token_embd.weight");
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/mapping.h"
#include "gguf/tensor.h"
#include "gguf/value.h"

namespace takt::gguf {

// Bounds File::u32_per_layer: far above any real model, far below what hurts.
inline constexpr uint64_t kLayerCountMax = 65536;
// Bounds a split set.
inline constexpr uint32_t kSplitCountMax = 1024;

class File {
 public:
  // Maps `path`. A file that says it is part of a split set (split.count > 1) must be the first part and be named
  // NAME-00001-of-0000N.gguf; the others are found beside it and checked against it. Metadata is the first part's.
  // Errors: not_found and io (system), invalid_file and unsupported (content); the message starts with the path of
  // the file at fault, names the key or tensor and has the byte offset. Never throws; a hostile file costs at most
  // about twenty times its size in memory (a real one far less than its size) and O(n log n) time.
  static base::Result<std::unique_ptr<File>> open(const std::string& path);

  // The same for bytes in memory, which must outlive the File and are not copied. Split sets are not followed: the
  // part stands for itself.
  static base::Result<std::unique_ptr<File>> parse(std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }    // empty for parse()
  uint32_t version() const { return version_; }        // 2 or 3
  uint64_t file_bytes() const { return file_bytes_; }  // of all parts together
  int part_count() const { return part_count_; }
  uint64_t alignment_bytes() const { return alignment_bytes_; }

  // --- metadata ---
  std::span<const Value> values() const { return values_; }  // file order
  const Value* find(std::string_view key) const;             // nullptr when missing

  // Typed access. A missing key is a not_found error; a value of another type or out of range is an invalid_file
  // error; both name the key, the second has the byte offset. The _or forms give `fallback` for a missing key only.
  base::Result<uint32_t> u32(std::string_view key) const;  // any integer type whose value fits
  base::Result<uint32_t> u32_or(std::string_view key, uint32_t fallback) const;
  base::Result<float> f32(std::string_view key) const;  // f32, or f64 rounded
  base::Result<float> f32_or(std::string_view key, float fallback) const;
  base::Result<bool> boolean(std::string_view key) const;
  base::Result<bool> boolean_or(std::string_view key, bool fallback) const;
  base::Result<std::string_view> string(std::string_view key) const;  // any bytes; UTF-8 is not checked
  base::Result<std::string_view> string_or(std::string_view key, std::string_view fallback) const;

  // Arrays, as views. The element type is checked, so that no reader can take bytes for wider numbers.
  base::Result<std::span<const std::string_view>> strings(std::string_view key) const;
  base::Result<IntegerArray> integers(std::string_view key) const;  // any integer type, or bools as 0 and 1
  base::Result<FloatArray> floats(std::string_view key) const;      // f32 only
  // One number a layer: an array of exactly layer_count elements, or one number for all. Precondition for success:
  // layer_count <= kLayerCountMax.
  base::Result<std::vector<uint32_t>> u32_per_layer(std::string_view key, uint64_t layer_count) const;

  // An error about a value or tensor in this file's words: "metadata key 'K' <what> (byte N)". For readers that check
  // more.
  base::Error value_error(const Value& value, std::string_view what) const;
  base::Error tensor_error(const Tensor& tensor, std::string_view what) const;

  // --- tensors ---
  std::span<const Tensor> tensors() const { return tensors_; }  // file order, part after part
  const Tensor* find_tensor(std::string_view name) const;       // nullptr when missing

  // Tells the system that the mapped pages wholly inside `span` (say, weights that were repacked) are not needed now.
  // Content is unchanged and is read again from the file when touched. No effect on a span that is not in a mapping
  // of this file.
  void advise_dont_need(std::span<const std::byte> span) const;

 private:
  File() = default;
  static base::Result<std::unique_ptr<File>> map_one(const std::string& path);
  base::Status add_split_parts(uint32_t part_count);
  base::Status add_split_part(const std::string& path, uint32_t part, uint32_t part_count);
  base::Result<const Value*> require(std::string_view key) const;
  // Orders tensors_by_name_; invalid_file when a name occurs twice (possible across parts only).
  base::Status index_tensors();
  void index_values();

  std::string path_;
  uint32_t version_ = 0;
  uint64_t file_bytes_ = 0;
  int part_count_ = 0;
  uint64_t alignment_bytes_ = 0;
  std::vector<Mapping> mappings_;
  std::vector<Value> values_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> values_by_key_;    // indices of values_, ordered by key
  std::vector<uint32_t> tensors_by_name_;  // indices of tensors_, ordered by name
};

}  // namespace takt::gguf
