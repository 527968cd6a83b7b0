// Writes GGUF v3 files. Metadata is kept in memory; tensor data is streamed, so a file may be larger than memory.
//
//   auto writer = gguf::Writer::create("out.gguf");
//   writer->add_string("general.architecture", "llama");
//   writer->add_tensor("token_embd.weight", base::WeightFormat::q8_0, {256, 512});
//   writer->begin_data();
//   writer->write(blocks);      // as often as needed, tensors in the order they were added
//   writer->finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/weight_format.h"
#include "gguf/value.h"

namespace takt::gguf {

class Writer {
 public:
  // Opens "<path>.part"; finish() renames it to `path`, so that a half-written file never has the final name.
  static base::Result<Writer> create(const std::string& path);
  Writer(Writer&&) = default;
  Writer& operator=(Writer&&) = delete;
  ~Writer();  // removes "<path>.part" when finish() was not reached

  // Metadata. Preconditions: before begin_data(); keys are not empty, at most 65535 bytes and distinct.
  void add_u32(std::string_view key, uint32_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);

  // Declares the next tensor; dims[0] is the row length. Errors (invalid_argument): a name that is empty or above 64
  // bytes, other than 1 to 4 dimensions, a zero dimension, an overflowing product, a row length that is no multiple
  // of the format's block.
  base::Status add_tensor(std::string_view name, base::WeightFormat format, std::span<const uint64_t> dims);

  // Stored bytes of all declared tensors, without padding.
  uint64_t tensor_bytes() const { return tensor_bytes_; }

  // Writes header, metadata and tensor table.
  base::Status begin_data();
  // Appends to the data of the current tensor, and pads when it is complete. `bytes` must not pass the tensor's end.
  base::Status write(std::span<const std::byte> bytes);
  // Flushes, checks that every declared tensor is complete, and gives the file its name.
  base::Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct PendingTensor {
    std::string name;
    base::WeightFormat format;
    std::vector<uint64_t> dims;
    uint64_t bytes;
  };
  Writer() = default;
  void put_key(std::string_view key, ValueType type);
  void put_array_key(std::string_view key, ValueType element_type, uint64_t count);
  base::Status write_raw(const void* bytes, size_t length);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string metadata_;
  uint64_t value_count_ = 0;
  std::vector<PendingTensor> tensors_;
  uint64_t tensor_bytes_ = 0;
  size_t current_ = 0;            // the tensor being written
  uint64_t current_written_ = 0;  // bytes of it
};

}  // namespace takt::gguf
