#include "gguf/writer.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "gguf/parse.h"

namespace takt::gguf {
namespace {

using base::Error;
using base::ErrorCode;
using base::Status;

constexpr uint64_t kAlignmentBytes = 32;  // the format's default; no general.alignment needed

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

uint64_t padding_after(uint64_t length) { return (kAlignmentBytes - length % kAlignmentBytes) % kAlignmentBytes; }

Error system_error(const std::string& path, const char* what) {
  return {ErrorCode::io, path + ": " + what + ": " + std::strerror(errno)};
}

}  // namespace

base::Result<Writer> Writer::create(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return Error{ErrorCode::invalid_argument, path + ": exists and is not a regular file"};
  Writer writer;
  writer.path_ = path;
  writer.file_.reset(std::fopen((path + ".part").c_str(), "wb"));
  if (!writer.file_) return system_error(path + ".part", "cannot create");
  return writer;
}

Writer::~Writer() {
  if (!file_) return;
  file_.reset();
  std::remove((path_ + ".part").c_str());
}

void Writer::put_key(std::string_view key, ValueType type) {
  put_text(metadata_, key);
  put<uint32_t>(metadata_, static_cast<uint32_t>(type));
  ++value_count_;
}

void Writer::put_array_key(std::string_view key, ValueType element_type, uint64_t count) {
  put_key(key, ValueType::array);
  put<uint32_t>(metadata_, static_cast<uint32_t>(element_type));
  put<uint64_t>(metadata_, count);
}

void Writer::add_u32(std::string_view key, uint32_t value) {
  put_key(key, ValueType::u32);
  put(metadata_, value);
}

void Writer::add_f32(std::string_view key, float value) {
  put_key(key, ValueType::f32);
  put(metadata_, value);
}

void Writer::add_bool(std::string_view key, bool value) {
  put_key(key, ValueType::boolean);
  put<uint8_t>(metadata_, value ? 1 : 0);
}

void Writer::add_string(std::string_view key, std::string_view value) {
  put_key(key, ValueType::string);
  put_text(metadata_, value);
}

void Writer::add_strings(std::string_view key, std::span<const std::string> values) {
  put_array_key(key, ValueType::string, values.size());
  for (const std::string& value : values) put_text(metadata_, value);
}

void Writer::add_i32s(std::string_view key, std::span<const int32_t> values) {
  put_array_key(key, ValueType::i32, values.size());
  for (const int32_t value : values) put(metadata_, value);
}

void Writer::add_f32s(std::string_view key, std::span<const float> values) {
  put_array_key(key, ValueType::f32, values.size());
  for (const float value : values) put(metadata_, value);
}

Status Writer::add_tensor(std::string_view name, base::WeightFormat format, std::span<const uint64_t> dims) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::invalid_argument, "tensor " + quote(name) + " " + what};
  };
  const base::WeightFormatInfo& info = base::info(format);
  if (name.empty() || name.size() > kTensorNameBytesMax) return refuse("needs a name of 1 to 64 bytes");
  if (dims.empty() || dims.size() > 4) return refuse("needs 1 to 4 dimensions");
  if (dims[0] % info.block_weights != 0)
    return refuse("has rows of " + std::to_string(dims[0]) + " weights, not a multiple of " + std::string(info.name) +
                  "'s block of " + std::to_string(info.block_weights));
  uint64_t bytes = info.block_bytes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const uint64_t factor = i == 0 ? dims[0] / info.block_weights : dims[i];
    if (factor == 0) return refuse("has a zero dimension");
    if (factor > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / bytes) return refuse("is too large");
    bytes *= factor;
  }
  tensors_.push_back({std::string(name), format, {dims.begin(), dims.end()}, bytes});
  tensor_bytes_ += bytes;
  return {};
}

Status Writer::begin_data() {
  std::string head = "GGUF";
  put<uint32_t>(head, 3);
  put<uint64_t>(head, tensors_.size());
  put<uint64_t>(head, value_count_);
  head += metadata_;
  uint64_t offset = 0;
  for (const PendingTensor& tensor : tensors_) {
    put_text(head, tensor.name);
    put<uint32_t>(head, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) put(head, dim);
    put(head, base::info(tensor.format).gguf_type);
    put(head, offset);
    offset += tensor.bytes + padding_after(tensor.bytes);
  }
  head.append(padding_after(head.size()), '\0');
  metadata_.clear();
  return write_raw(head.data(), head.size());
}

Status Writer::write(std::span<const std::byte> bytes) {
  if (current_ >= tensors_.size() || bytes.size() > tensors_[current_].bytes - current_written_)
    return Error{ErrorCode::invalid_argument, path_ + ": more tensor data than was declared"};
  if (Status s = write_raw(bytes.data(), bytes.size()); !s) return s;
  current_written_ += bytes.size();
  if (current_written_ < tensors_[current_].bytes) return {};
  constexpr char kZeros[kAlignmentBytes] = {};
  const uint64_t padding = padding_after(current_written_);
  ++current_;
  current_written_ = 0;
  return write_raw(kZeros, padding);
}

Status Writer::write_raw(const void* bytes, size_t length) {
  if (std::fwrite(bytes, 1, length, file_.get()) != length) return system_error(path_ + ".part", "cannot write");
  return {};
}

Status Writer::finish() {
  const std::string part = path_ + ".part";
  if (current_ != tensors_.size())
    return Error{ErrorCode::invalid_argument, path_ + ": tensor " + quote(tensors_[current_].name) + " is incomplete"};
  const bool is_closed = std::fclose(file_.release()) == 0;
  if (is_closed && std::rename(part.c_str(), path_.c_str()) == 0) return {};
  const Error error = system_error(path_, "cannot finish");
  std::remove(part.c_str());
  return error;
}

}  // namespace takt::gguf
