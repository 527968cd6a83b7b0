#include "gguf/parse.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "gguf/cursor.h"

namespace takt::gguf {
namespace {

using base::Error;
using base::ErrorCode;
using base::Status;

constexpr uint32_t kMagic = 0x46554747;         // "GGUF", read as little-endian
constexpr uint32_t kMagicSwapped = 0x47475546;  // "FUGG"
// The fewest bytes an entry can take: counts above remaining / this are lies, found before anything is allocated.
constexpr uint64_t kValueBytesMin = 8 + 1 + 4 + 1;               // key length, key, type, value
constexpr uint64_t kTensorInfoBytesMin = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, dim count, one dim, type, offset
// Entries reserved at once at most; a vector grows as entries really come.
constexpr uint64_t kReserveMax = 4096;

Error invalid(uint64_t offset, const std::string& what) {
  return {ErrorCode::invalid_file, what + " (byte " + std::to_string(offset) + ")"};
}

Error unsupported(uint64_t offset, const std::string& what) {
  return {ErrorCode::unsupported, what + " (byte " + std::to_string(offset) + ")"};
}

class PartParser {
 public:
  explicit PartParser(std::span<const std::byte> bytes) : bytes_(bytes), cursor_(bytes) {}

  base::Result<ParsedPart> parse() {
    if (Status s = read_header(); !s) return s.error();
    if (Status s = read_values(); !s) return s.error();
    if (Status s = find_alignment(); !s) return s.error();
    if (Status s = read_tensor_infos(); !s) return s.error();
    if (Status s = place_tensors(); !s) return s.error();
    return std::move(part_);
  }

 private:
  Status read_header();
  Status read_values();
  Status read_value(Value& value);
  Status read_value_type(const std::string& where, ValueType& type);
  Status read_scalar(const std::string& where, Value& value);
  Status read_array(const std::string& where, Value& value);
  Status read_string_elements(const std::string& where, Value& value);
  Status read_string(const std::string& what, uint64_t bytes_max, std::span<const std::byte>& out);
  Status check_unique_keys();
  Status find_alignment();
  Status read_tensor_infos();
  Status read_tensor_info(uint64_t index, Tensor& tensor);
  Status read_dims(const std::string& where, Tensor& tensor);
  Status check_unique_tensor_names();
  Status place_tensors();
  Status place_tensor(Tensor& tensor);
  Status check_no_overlap();

  Error truncated(const std::string& what) const {
    return invalid(cursor_.offset(),
                   "file ends inside " + what + ": " + std::to_string(cursor_.remaining()) + " bytes left");
  }

  std::span<const std::byte> bytes_;
  Cursor cursor_;
  ParsedPart part_;
  uint64_t value_count_ = 0;
  uint64_t tensor_count_ = 0;
};

Status PartParser::read_header() {
  uint32_t magic = 0;
  if (!cursor_.try_read(magic)) return truncated("the magic");
  if (magic == kMagicSwapped) return unsupported(0, "big-endian GGUF file");
  if (magic != kMagic) return invalid(0, "not a GGUF file: wrong magic");
  if (!cursor_.try_read(part_.version)) return truncated("the version");
  if (part_.version != 0 && (part_.version & 0xffffu) == 0) return unsupported(4, "big-endian GGUF file");
  if (part_.version != 2 && part_.version != 3)
    return unsupported(4, "GGUF version " + std::to_string(part_.version) + "; versions 2 and 3 are read");
  if (!cursor_.try_read(tensor_count_)) return truncated("the tensor count");
  if (!cursor_.try_read(value_count_)) return truncated("the metadata count");
  if (tensor_count_ > cursor_.remaining() / kTensorInfoBytesMin)
    return invalid(8, "tensor count " + std::to_string(tensor_count_) + " does not fit into the file");
  if (value_count_ > cursor_.remaining() / kValueBytesMin)
    return invalid(16, "metadata count " + std::to_string(value_count_) + " does not fit into the file");
  return {};
}

// A u64 length and as many bytes.
Status PartParser::read_string(const std::string& what, uint64_t bytes_max, std::span<const std::byte>& out) {
  const uint64_t at = cursor_.offset();
  uint64_t length = 0;
  if (!cursor_.try_read(length)) return truncated(what + "'s length");
  if (length > cursor_.remaining())
    return invalid(at, what + " claims " + std::to_string(length) + " bytes where " +
                           std::to_string(cursor_.remaining()) + " remain in the file");
  if (length > bytes_max)
    return invalid(at, what + " is longer than " + std::to_string(bytes_max) + " bytes: " + std::to_string(length));
  out = cursor_.take(length);
  return {};
}

Status PartParser::read_values() {
  part_.values.reserve(std::min(value_count_, kReserveMax));
  for (uint64_t index = 0; index < value_count_; ++index) {
    Value value;
    value.key_offset = cursor_.offset();
    std::span<const std::byte> key;
    const std::string where = "metadata entry " + std::to_string(index) + "'s key";
    if (Status s = read_string(where, kKeyBytesMax, key); !s) return s;
    if (key.empty()) return invalid(value.key_offset, where + " is empty");
    value.key = {reinterpret_cast<const char*>(key.data()), key.size()};
    if (Status s = read_value(value); !s) return s;
    part_.values.push_back(std::move(value));
  }
  return check_unique_keys();
}

Status PartParser::read_value_type(const std::string& where, ValueType& type) {
  const uint64_t at = cursor_.offset();
  uint32_t id = 0;
  if (!cursor_.try_read(id)) return truncated(where + "'s type");
  if (id >= kValueTypeCount) return invalid(at, where + " has unknown type " + std::to_string(id));
  type = static_cast<ValueType>(id);
  return {};
}

Status PartParser::read_value(Value& value) {
  const std::string where = "metadata key " + quote(value.key);
  if (Status s = read_value_type(where, value.type); !s) return s;
  value.element_type = value.type;
  value.offset = cursor_.offset();
  if (value.type == ValueType::array) return read_array(where, value);
  if (value.type == ValueType::string) return read_string(where, std::numeric_limits<uint64_t>::max(), value.bytes);
  return read_scalar(where, value);
}

Status PartParser::read_scalar(const std::string& where, Value& value) {
  const size_t length = stored_bytes(value.type);
  if (length > cursor_.remaining()) return truncated(where);
  value.bytes = cursor_.take(length);
  if (value.type == ValueType::boolean && static_cast<uint8_t>(value.bytes[0]) > 1)
    return invalid(value.offset, where + " is a bool that is neither 0 nor 1");
  return {};
}

Status PartParser::read_array(const std::string& where, Value& value) {
  if (Status s = read_value_type(where + " (array element)", value.element_type); !s) return s;
  const uint64_t count_offset = cursor_.offset();
  if (value.element_type == ValueType::array) return unsupported(value.offset, where + " is an array of arrays");
  if (!cursor_.try_read(value.count)) return truncated(where + "'s array length");
  value.offset = cursor_.offset();
  // A string takes at least the eight bytes of its length.
  const bool is_text = value.element_type == ValueType::string;
  const uint64_t element_bytes = is_text ? 8 : stored_bytes(value.element_type);
  if (value.count > cursor_.remaining() / element_bytes)
    return invalid(count_offset, where + " claims " + std::to_string(value.count) + " array elements where " +
                                     std::to_string(cursor_.remaining()) + " bytes remain in the file");
  if (is_text) return read_string_elements(where, value);
  value.bytes = cursor_.take(value.count * element_bytes);
  if (value.element_type != ValueType::boolean) return {};
  for (uint64_t i = 0; i < value.count; ++i)
    if (static_cast<uint8_t>(value.bytes[i]) > 1)
      return invalid(value.offset + i, where + " holds a bool that is neither 0 nor 1 at index " + std::to_string(i));
  return {};
}

Status PartParser::read_string_elements(const std::string& where, Value& value) {
  value.strings.reserve(std::min(value.count, kReserveMax));
  for (uint64_t i = 0; i < value.count; ++i) {
    // The message is made only when there is something to say: a vocabulary has 10^5 strings.
    const uint64_t at = cursor_.offset();
    uint64_t length = 0;
    if (!cursor_.try_read(length) || length > cursor_.remaining())
      return invalid(at, where + ": string " + std::to_string(i) + " of the array passes the end of the file");
    const auto text = cursor_.take(length);
    value.strings.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  value.bytes = bytes_.subspan(value.offset, cursor_.offset() - value.offset);
  return {};
}

Status PartParser::check_unique_keys() {
  std::vector<uint32_t> order(part_.values.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto& values = part_.values;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return values[a].key != values[b].key ? values[a].key < values[b].key : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (values[order[i]].key == values[order[i - 1]].key)
      return invalid(values[order[i]].key_offset, "metadata key " + quote(values[order[i]].key) + " occurs twice");
  return {};
}

Status PartParser::find_alignment() {
  for (const Value& value : part_.values) {
    if (value.key != "general.alignment") continue;
    if (value.type != ValueType::u32)
      return invalid(value.offset,
                     "metadata key 'general.alignment' is " + std::string(name(value.type)) + ", expected u32");
    uint32_t alignment = 0;
    std::memcpy(&alignment, value.bytes.data(), sizeof alignment);
    if (!std::has_single_bit(alignment) || alignment < kAlignmentBytesMin || alignment > kAlignmentBytesMax)
      return invalid(value.offset, "metadata key 'general.alignment' is " + std::to_string(alignment) +
                                       ", expected a power of two from 8 to 65536");
    part_.alignment_bytes = alignment;
  }
  return {};
}

Status PartParser::read_tensor_infos() {
  part_.tensors.reserve(std::min(tensor_count_, kReserveMax));
  for (uint64_t index = 0; index < tensor_count_; ++index) {
    Tensor tensor;
    if (Status s = read_tensor_info(index, tensor); !s) return s;
    part_.tensors.push_back(tensor);
  }
  return check_unique_tensor_names();
}

// Leaves the tensor's offset relative to the data section: place_tensor adds the section's start.
Status PartParser::read_tensor_info(uint64_t index, Tensor& tensor) {
  tensor.info_offset = cursor_.offset();
  const std::string numbered = "tensor " + std::to_string(index) + "'s name";
  std::span<const std::byte> name;
  if (Status s = read_string(numbered, kTensorNameBytesMax, name); !s) return s;
  if (name.empty()) return invalid(tensor.info_offset, numbered + " is empty");
  tensor.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  const std::string where = "tensor " + quote(tensor.name);
  if (Status s = read_dims(where, tensor); !s) return s;
  const uint64_t type_offset = cursor_.offset();
  if (!cursor_.try_read(tensor.type)) return truncated(where + "'s type");
  const auto info = tensor_type_info(tensor.type);
  if (info && tensor.dims[0] % info->block_weights != 0)
    return invalid(type_offset, where + " has rows of " + std::to_string(tensor.dims[0]) +
                                    " weights, not a multiple of " + std::string(info->name) + "'s block of " +
                                    std::to_string(info->block_weights));
  if (!cursor_.try_read(tensor.offset)) return truncated(where + "'s offset");
  return {};
}

Status PartParser::read_dims(const std::string& where, Tensor& tensor) {
  const uint64_t at = cursor_.offset();
  uint32_t dim_count = 0;
  if (!cursor_.try_read(dim_count)) return truncated(where + "'s dimension count");
  if (dim_count < 1 || dim_count > 4)
    return invalid(at, where + " has " + std::to_string(dim_count) + " dimensions, expected 1 to 4");
  tensor.dim_count = static_cast<int>(dim_count);
  // int64 bounds what the rest of the program counts weights with.
  uint64_t product = 1;
  for (uint32_t i = 0; i < dim_count; ++i) {
    const uint64_t dim_offset = cursor_.offset();
    uint64_t dim = 0;
    if (!cursor_.try_read(dim)) return truncated(where + "'s dimensions");
    if (dim == 0) return invalid(dim_offset, where + ": dimension " + std::to_string(i) + " is zero");
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / product)
      return invalid(dim_offset, where + ": the product of its dimensions overflows at dimension " + std::to_string(i) +
                                     ", which is " + std::to_string(dim));
    product *= dim;
    tensor.dims[i] = dim;
  }
  tensor.weight_count = product;
  return {};
}

Status PartParser::check_unique_tensor_names() {
  std::vector<uint32_t> order(part_.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto& tensors = part_.tensors;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].name != tensors[b].name ? tensors[a].name < tensors[b].name : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (tensors[order[i]].name == tensors[order[i - 1]].name)
      return invalid(tensors[order[i]].info_offset, "tensor " + quote(tensors[order[i]].name) + " occurs twice");
  return {};
}

Status PartParser::place_tensors() {
  const uint64_t alignment = part_.alignment_bytes;
  // Cannot overflow: the cursor is inside a mapping, far below 2^63.
  part_.data_offset = (cursor_.offset() + alignment - 1) / alignment * alignment;
  for (Tensor& tensor : part_.tensors)
    if (Status s = place_tensor(tensor); !s) return s;
  return check_no_overlap();
}

Status PartParser::place_tensor(Tensor& tensor) {
  const std::string where = "tensor " + quote(tensor.name);
  if (tensor.offset % part_.alignment_bytes != 0)
    return invalid(tensor.info_offset, where + " starts at data offset " + std::to_string(tensor.offset) +
                                           ", not a multiple of the alignment " +
                                           std::to_string(part_.alignment_bytes));
  const uint64_t file_bytes = bytes_.size();
  if (part_.data_offset > file_bytes || tensor.offset >= file_bytes - part_.data_offset)
    return invalid(tensor.info_offset,
                   where + " starts at data offset " + std::to_string(tensor.offset) + ", beyond the end of the file");
  tensor.offset += part_.data_offset;
  const auto info = tensor_type_info(tensor.type);
  if (!info) return {};
  const uint64_t block_count = tensor.weight_count / info->block_weights;
  const uint64_t available = file_bytes - tensor.offset;
  if (block_count > available / info->block_bytes)
    return invalid(tensor.info_offset, where + " needs " + std::to_string(block_count) + " blocks of " +
                                           std::to_string(info->block_bytes) + " bytes, but the file ends after " +
                                           std::to_string(available) + " bytes of it");
  tensor.bytes = bytes_.subspan(tensor.offset, block_count * info->block_bytes);
  tensor.is_size_known = true;
  return {};
}

Status PartParser::check_no_overlap() {
  std::vector<uint32_t> order(part_.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto& tensors = part_.tensors;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].offset != tensors[b].offset ? tensors[a].offset < tensors[b].offset : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const Tensor &before = tensors[order[i - 1]], &after = tensors[order[i]];
    // A tensor of unknown size takes at least one byte.
    const uint64_t end = before.offset + (before.is_size_known ? before.bytes.size() : 1);
    if (after.offset < end)
      return invalid(after.info_offset, "tensor " + quote(after.name) + " overlaps tensor " + quote(before.name));
  }
  return {};
}

}  // namespace

std::string quote(std::string_view name) {
  constexpr size_t kShownBytesMax = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "'";
  for (size_t i = 0; i < name.size() && i < kShownBytesMax; ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte >= 0x20 && byte < 0x7f) {
      out += name[i];
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out + (name.size() > kShownBytesMax ? "…'" : "'");
}

base::Result<ParsedPart> parse_part(std::span<const std::byte> bytes) { return PartParser(bytes).parse(); }

}  // namespace takt::gguf
