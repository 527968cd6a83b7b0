#include "gguf/file.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "gguf/parse.h"

namespace takt::gguf {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

Error at_path(const std::string& path, const Error& error) { return {error.code, path + ": " + error.message}; }

// "-00001-of-00003.gguf"; part counts from 0.
std::string split_suffix(uint32_t part, uint32_t part_count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05u-of-%05u.gguf", part + 1, part_count);
  return text;
}

template <class T>
T load(const Value& value) {
  T number;
  std::memcpy(&number, value.bytes.data(), sizeof number);
  return number;
}

std::string described(const Value& value) {
  if (value.type != ValueType::array) return std::string(name(value.type));
  return "an array of " + std::string(name(value.element_type));
}

}  // namespace

Result<std::unique_ptr<File>> File::parse(std::span<const std::byte> bytes) try {
  Result<ParsedPart> part = parse_part(bytes);
  if (!part) return part.error();
  std::unique_ptr<File> file(new File);
  file->version_ = part->version;
  file->file_bytes_ = bytes.size();
  file->part_count_ = 1;
  file->alignment_bytes_ = part->alignment_bytes;
  file->values_ = std::move(part->values);
  file->tensors_ = std::move(part->tensors);
  file->index_values();
  if (Status s = file->index_tensors(); !s) return s.error();
  return file;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, "not enough memory to read the file's metadata"};
}

Result<std::unique_ptr<File>> File::map_one(const std::string& path) {
  Result<Mapping> mapping = Mapping::map(path);
  if (!mapping) return mapping.error();
  Result<std::unique_ptr<File>> file = parse(mapping->bytes());
  if (!file) return at_path(path, file.error());
  (*file)->path_ = path;
  (*file)->mappings_.push_back(std::move(*mapping));
  return file;
}

Result<std::unique_ptr<File>> File::open(const std::string& path) try {
  Result<std::unique_ptr<File>> file = map_one(path);
  if (!file) return file;
  const Result<uint32_t> part_count = (*file)->u32_or("split.count", 1);
  if (!part_count) return at_path(path, part_count.error());
  if (*part_count > 1)
    if (Status s = (*file)->add_split_parts(*part_count); !s) return s.error();
  return file;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, path + ": not enough memory to read the file's metadata"};
}

Status File::add_split_parts(uint32_t part_count) {
  if (part_count > kSplitCountMax)
    return at_path(path_, value_error(*find("split.count"), "is " + std::to_string(part_count) + ", more than " +
                                                                std::to_string(kSplitCountMax)));
  const Result<uint32_t> part = u32("split.no");
  if (!part) return at_path(path_, part.error());
  if (*part != 0)
    return at_path(path_, value_error(*find("split.no"), "is " + std::to_string(*part) + ": open the first part, NAME" +
                                                             split_suffix(0, part_count)));
  const std::string suffix = split_suffix(0, part_count);
  if (!path_.ends_with(suffix))
    return at_path(
        path_, value_error(*find("split.count"), "is " + std::to_string(part_count) + ": the file's name must end in " +
                                                     suffix + " so that the other parts can be found"));
  const std::string stem = path_.substr(0, path_.size() - suffix.size());
  for (uint32_t i = 1; i < part_count; ++i)
    if (Status s = add_split_part(stem + split_suffix(i, part_count), i, part_count); !s) return s;
  const Result<uint32_t> tensor_count = u32("split.tensors.count");
  if (!tensor_count) return at_path(path_, tensor_count.error());
  if (*tensor_count != tensors_.size())
    return at_path(path_, value_error(*find("split.tensors.count"), "is " + std::to_string(*tensor_count) +
                                                                        ", but the parts hold " +
                                                                        std::to_string(tensors_.size()) + " tensors"));
  if (Status s = index_tensors(); !s) return at_path(path_, s.error());
  return {};
}

Status File::add_split_part(const std::string& path, uint32_t part, uint32_t part_count) {
  Result<std::unique_ptr<File>> other = map_one(path);
  if (!other) return other.error();
  for (const auto& [key, expected] : {std::pair{"split.no", part}, std::pair{"split.count", part_count}}) {
    const Result<uint32_t> found = (*other)->u32(key);
    if (!found) return at_path(path, found.error());
    if (*found != expected)
      return at_path(path, (*other)->value_error(*(*other)->find(key), "is " + std::to_string(*found) + ", expected " +
                                                                           std::to_string(expected)));
  }
  for (Tensor& tensor : (*other)->tensors_) {
    tensor.part = static_cast<int>(part);
    tensors_.push_back(tensor);
  }
  file_bytes_ += (*other)->file_bytes_;
  ++part_count_;
  mappings_.push_back(std::move((*other)->mappings_.front()));
  return {};
}

void File::index_values() {
  values_by_key_.resize(values_.size());
  std::iota(values_by_key_.begin(), values_by_key_.end(), 0u);
  std::sort(values_by_key_.begin(), values_by_key_.end(),
            [&](uint32_t a, uint32_t b) { return values_[a].key < values_[b].key; });
}

Status File::index_tensors() {
  tensors_by_name_.resize(tensors_.size());
  std::iota(tensors_by_name_.begin(), tensors_by_name_.end(), 0u);
  std::sort(tensors_by_name_.begin(), tensors_by_name_.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < tensors_by_name_.size(); ++i) {
    const Tensor& tensor = tensors_[tensors_by_name_[i]];
    if (tensor.name == tensors_[tensors_by_name_[i - 1]].name) return tensor_error(tensor, "occurs in two parts");
  }
  return {};
}

const Value* File::find(std::string_view key) const {
  const auto at = std::lower_bound(values_by_key_.begin(), values_by_key_.end(), key,
                                   [&](uint32_t index, std::string_view k) { return values_[index].key < k; });
  return at != values_by_key_.end() && values_[*at].key == key ? &values_[*at] : nullptr;
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto at = std::lower_bound(tensors_by_name_.begin(), tensors_by_name_.end(), name,
                                   [&](uint32_t index, std::string_view n) { return tensors_[index].name < n; });
  return at != tensors_by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

Error File::value_error(const Value& value, std::string_view what) const {
  return {ErrorCode::invalid_file, "metadata key " + quote(value.key) + " " + std::string(what) + " (byte " +
                                       std::to_string(value.offset) + ")"};
}

Error File::tensor_error(const Tensor& tensor, std::string_view what) const {
  std::string message =
      "tensor " + quote(tensor.name) + " " + std::string(what) + " (byte " + std::to_string(tensor.info_offset);
  if (part_count_ > 1) message += " of part " + std::to_string(tensor.part + 1);
  return {ErrorCode::invalid_file, message + ")"};
}

Result<const Value*> File::require(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return Error{ErrorCode::not_found, "metadata key " + quote(key) + " is missing"};
  return value;
}

Result<uint32_t> File::u32(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (!is_integer(value.type)) return value_error(value, "is " + described(value) + ", expected an integer");
  const int64_t number = IntegerArray(value.type, value.bytes)[0];
  // A u64 above int64 reads as negative: out of range either way.
  if (number < 0 || number > std::numeric_limits<uint32_t>::max())
    return value_error(value, "does not fit into 32 bits without a sign");
  return static_cast<uint32_t>(number);
}

Result<float> File::f32(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (value.type == ValueType::f32) return load<float>(value);
  if (value.type == ValueType::f64) {
    const double number = load<double>(value);
    // Out of float's range the conversion is undefined; infinities and NaN convert.
    if (number > std::numeric_limits<float>::max() || number < std::numeric_limits<float>::lowest())
      return value_error(value, "does not fit into f32");
    return static_cast<float>(number);
  }
  return value_error(value, "is " + described(value) + ", expected f32");
}

Result<bool> File::boolean(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (value.type != ValueType::boolean) return value_error(value, "is " + described(value) + ", expected bool");
  return value.bytes[0] != std::byte{0};
}

Result<std::string_view> File::string(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (value.type != ValueType::string) return value_error(value, "is " + described(value) + ", expected string");
  return value.text();
}

Result<uint32_t> File::u32_or(std::string_view key, uint32_t fallback) const {
  return find(key) ? u32(key) : Result<uint32_t>(fallback);
}
Result<float> File::f32_or(std::string_view key, float fallback) const {
  return find(key) ? f32(key) : Result<float>(fallback);
}
Result<bool> File::boolean_or(std::string_view key, bool fallback) const {
  return find(key) ? boolean(key) : Result<bool>(fallback);
}
Result<std::string_view> File::string_or(std::string_view key, std::string_view fallback) const {
  return find(key) ? string(key) : Result<std::string_view>(fallback);
}

Result<std::span<const std::string_view>> File::strings(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (value.type != ValueType::array || value.element_type != ValueType::string)
    return value_error(value, "is " + described(value) + ", expected an array of string");
  return std::span<const std::string_view>(value.strings);
}

Result<IntegerArray> File::integers(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  const bool fits = is_integer(value.element_type) || value.element_type == ValueType::boolean;
  if (value.type != ValueType::array || !fits)
    return value_error(value, "is " + described(value) + ", expected an array of integers");
  const IntegerArray array(value.element_type, value.bytes);
  if (value.element_type == ValueType::u64)
    for (size_t i = 0; i < array.size(); ++i)
      if (array[i] < 0) return value_error(value, "holds a number above 2^63 at index " + std::to_string(i));
  return array;
}

Result<FloatArray> File::floats(std::string_view key) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (value.type != ValueType::array || value.element_type != ValueType::f32)
    return value_error(value, "is " + described(value) + ", expected an array of f32");
  return FloatArray(value.bytes);
}

Result<std::vector<uint32_t>> File::u32_per_layer(std::string_view key, uint64_t layer_count) const {
  const Result<const Value*> found = require(key);
  if (!found) return found.error();
  const Value& value = **found;
  if (layer_count > kLayerCountMax)
    return value_error(
        value, "is for " + std::to_string(layer_count) + " layers, more than " + std::to_string(kLayerCountMax));
  if (value.type != ValueType::array) {
    const Result<uint32_t> number = u32(key);
    if (!number) return number.error();
    return std::vector<uint32_t>(layer_count, *number);
  }
  const Result<IntegerArray> array = integers(key);
  if (!array) return array.error();
  if (array->size() != layer_count)
    return value_error(value, "has " + std::to_string(array->size()) + " elements, expected one for each of " +
                                  std::to_string(layer_count) + " layers");
  std::vector<uint32_t> numbers(layer_count);
  for (size_t i = 0; i < layer_count; ++i) {
    const int64_t number = (*array)[i];
    if (number < 0 || number > std::numeric_limits<uint32_t>::max())
      return value_error(value, "does not fit into 32 bits without a sign at index " + std::to_string(i));
    numbers[i] = static_cast<uint32_t>(number);
  }
  return numbers;
}

void File::advise_dont_need(std::span<const std::byte> span) const {
  for (const Mapping& mapping : mappings_)
    if (mapping.contains(span)) return mapping.advise_dont_need(span);
}

}  // namespace takt::gguf
