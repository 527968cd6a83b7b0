#include "describe_file.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>

namespace takt::apps {
namespace {

using gguf::Tensor;
using gguf::Value;
using gguf::ValueType;

constexpr size_t kTextBytesShown = 72;
constexpr size_t kElementsShown = 4;     // of an array, in text
constexpr size_t kJsonElementsMax = 64;  // longer arrays are cut in JSON

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

// The length of the valid UTF-8 sequence at text[at], 0 when there is none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto is_tail = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return is_tail(at + 1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool is_overlong = first == 0xe0 && second < 0xa0, is_surrogate = first == 0xed && second >= 0xa0;
    return is_tail(at + 1) && is_tail(at + 2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool is_out_of_range = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return is_tail(at + 1) && is_tail(at + 2) && is_tail(at + 3) && !is_out_of_range ? 4 : 0;
  }
  return 0;
}

// Valid, printable UTF-8 stays; control bytes and broken sequences become escapes; cut after bytes_max.
std::string printable(std::string_view text, size_t bytes_max) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (at >= bytes_max) return out + "…";
    const size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    // U+0080…U+009F are control characters that some terminals obey.
    const bool is_c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (byte == '\n')
      out += "\\n";
    else if (byte == '\\')
      out += "\\\\";
    else if (length == 0 || byte < 0x20 || byte == 0x7f)
      out += formatted("\\x%02x", byte);
    else if (is_c1)
      out += formatted("\\u00%02x", static_cast<unsigned char>(text[at + 1]));
    else
      out.append(text, at, length);
    at += std::max<size_t>(length, 1);
  }
  return out;
}

template <class T>
T load(std::span<const std::byte> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// The fewest digits that read back as the same number.
template <class T>
std::string shortest(T number) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

// One number or bool, of a scalar or an array.
std::string number_text(ValueType type, std::span<const std::byte> bytes, size_t index) {
  switch (type) {
    case ValueType::f32: return shortest(load<float>(bytes, index));
    case ValueType::f64: return shortest(load<double>(bytes, index));
    case ValueType::u64: return formatted("%" PRIu64, load<uint64_t>(bytes, index));
    case ValueType::boolean: return load<uint8_t>(bytes, index) != 0 ? "true" : "false";
    default: return std::to_string(gguf::IntegerArray(type, bytes)[index]);
  }
}

std::string value_text(const Value& value) {
  if (value.type == ValueType::string) return '"' + printable(value.text(), kTextBytesShown) + '"';
  if (value.type != ValueType::array) return number_text(value.type, value.bytes, 0);
  std::string out = "[";
  const size_t shown = std::min<size_t>(value.count, kElementsShown);
  for (size_t i = 0; i < shown; ++i) {
    if (i != 0) out += ", ";
    out += value.element_type == ValueType::string
               ? '"' + printable(value.strings[i], kTextBytesShown / kElementsShown) + '"'
               : number_text(value.element_type, value.bytes, i);
  }
  return out + (shown < value.count ? ", …]" : "]");
}

std::string type_text(const Value& value) {
  if (value.type != ValueType::array) return std::string(name(value.type));
  return std::string(name(value.element_type)) + " × " + std::to_string(value.count);
}

struct TypeSum {
  uint64_t tensor_count = 0, weight_count = 0, bytes = 0;
  bool is_size_known = true;
};

// Weight counts of tensors of unknown size are claims that nothing checked: they saturate rather than wrap.
std::map<std::string, TypeSum> sums_by_type(const gguf::File& file) {
  std::map<std::string, TypeSum> sums;
  for (const Tensor& tensor : file.tensors()) {
    TypeSum& sum = sums[gguf::tensor_type_name(tensor.type)];
    const uint64_t room = std::numeric_limits<int64_t>::max() - sum.weight_count;
    sum.tensor_count += 1;
    sum.weight_count += std::min(tensor.weight_count, room);
    sum.bytes += tensor.bytes.size();
    sum.is_size_known &= tensor.is_size_known;
  }
  return sums;
}

uint64_t known_weight_count(const gguf::File& file) {
  uint64_t count = 0;
  for (const Tensor& tensor : file.tensors()) count += tensor.is_size_known ? tensor.weight_count : 0;
  return count;
}

std::string dims_text(const Tensor& tensor) {
  std::string out;
  for (int i = 0; i < tensor.dim_count; ++i) out += (i == 0 ? "" : " × ") + std::to_string(tensor.dims[i]);
  return out;
}

// A string value, or "" when it is missing or of another type: what is shown here decides nothing.
std::string text_of(const gguf::File& file, std::string_view key) {
  const auto text = file.string(key);
  return text ? printable(*text, kTextBytesShown) : "";
}

std::string tokenizer_text(const gguf::File& file) {
  const auto tokens = file.strings("tokenizer.ggml.tokens");
  if (!tokens) return "";
  const std::string pre = text_of(file, "tokenizer.ggml.pre");
  return text_of(file, "tokenizer.ggml.model") + (pre.empty() ? "" : " / " + pre) + ", " +
         std::to_string(tokens->size()) + " tokens";
}

std::string summary(const gguf::File& file) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    if (!text.empty()) out += formatted("  %-14s", label) + text + "\n";
  };
  line("architecture", text_of(file, "general.architecture"));
  line("name", text_of(file, "general.name"));
  line("tokenizer", tokenizer_text(file));
  if (file.tensors().empty())
    line("weights", "none (vocabulary only)");
  else
    line("weights", formatted("%.1f million in %zu tensors", static_cast<double>(known_weight_count(file)) / 1e6,
                              file.tensors().size()));
  return out;
}

boost::json::value number_json(ValueType type, std::span<const std::byte> bytes, size_t index) {
  switch (type) {
    case ValueType::f32: return static_cast<double>(load<float>(bytes, index));
    case ValueType::f64: return load<double>(bytes, index);
    case ValueType::u64: return load<uint64_t>(bytes, index);
    case ValueType::boolean: return load<uint8_t>(bytes, index) != 0;
    default: return gguf::IntegerArray(type, bytes)[index];
  }
}

// JSON must be UTF-8: other bytes are escaped as in the text form.
std::string json_text(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return printable(text, text.size());
    at += length;
  }
  return std::string(text);
}

boost::json::value value_json(const Value& value) {
  if (value.type == ValueType::string) return boost::json::string(json_text(value.text()));
  if (value.type != ValueType::array) return number_json(value.type, value.bytes, 0);
  const bool is_cut = value.count > kJsonElementsMax;
  const size_t shown = is_cut ? kElementsShown : value.count;
  boost::json::array elements;
  for (size_t i = 0; i < shown; ++i)
    elements.push_back(value.element_type == ValueType::string
                           ? boost::json::value(boost::json::string(json_text(value.strings[i])))
                           : number_json(value.element_type, value.bytes, i));
  if (!is_cut) return elements;
  return boost::json::object{
      {"type", name(value.element_type)}, {"count", value.count}, {"first", std::move(elements)}};
}

boost::json::object tensor_json(const Tensor& tensor) {
  boost::json::array dims;
  for (int i = 0; i < tensor.dim_count; ++i) dims.push_back(tensor.dims[i]);
  boost::json::object object{{"name", json_text(tensor.name)},
                             {"type", gguf::tensor_type_name(tensor.type)},
                             {"dims", std::move(dims)},
                             {"offset", tensor.offset}};
  if (tensor.is_size_known) object["bytes"] = tensor.bytes.size();
  return object;
}

}  // namespace

std::string describe(const gguf::File& file, bool lists_tensors) {
  std::string out = file.path() +
                    formatted(": GGUF v%u, %.1f MB", file.version(), static_cast<double>(file.file_bytes()) / 1e6) +
                    (file.part_count() > 1 ? formatted(" in %d files\n", file.part_count()) : "\n");
  out += summary(file);
  out += formatted("metadata (%zu)\n", file.values().size());
  for (const Value& value : file.values())
    out += "  " + printable(value.key, kTextBytesShown) + " (" + type_text(value) + ") = " + value_text(value) + "\n";
  if (file.tensors().empty()) return out;
  out += "weights by type\n  type        tensors        weights          bytes\n";
  for (const auto& [type, sum] : sums_by_type(file))
    out += formatted("  %-10s %8" PRIu64 " %14" PRIu64 " ", type.c_str(), sum.tensor_count, sum.weight_count) +
           (sum.is_size_known ? formatted("%14" PRIu64 "\n", sum.bytes)
                              : "  unknown type: size not checked, cannot be run\n");
  if (!lists_tensors) return out;
  out += formatted("tensors (%zu)\n", file.tensors().size());
  for (const Tensor& tensor : file.tensors())
    out += "  " + printable(tensor.name, kTextBytesShown) + "  " + gguf::tensor_type_name(tensor.type) + "  " +
           dims_text(tensor) + formatted("  at %" PRIu64 "\n", tensor.offset);
  return out;
}

boost::json::object describe_json(const gguf::File& file, bool lists_tensors) {
  boost::json::object metadata;
  for (const Value& value : file.values()) metadata[json_text(value.key)] = value_json(value);
  boost::json::array types, tensors;
  for (const auto& [type, sum] : sums_by_type(file)) {
    boost::json::object entry{{"type", type}, {"tensors", sum.tensor_count}, {"weights", sum.weight_count}};
    if (sum.is_size_known) entry["bytes"] = sum.bytes;
    types.push_back(std::move(entry));
  }
  boost::json::object object{{"file", json_text(file.path())},
                             {"version", file.version()},
                             {"bytes", file.file_bytes()},
                             {"parts", file.part_count()},
                             {"architecture", text_of(file, "general.architecture")},
                             {"name", text_of(file, "general.name")},
                             {"tokenizer", tokenizer_text(file)},
                             {"weight_count", known_weight_count(file)},
                             {"metadata", std::move(metadata)},
                             {"types", std::move(types)}};
  if (lists_tensors) {
    for (const Tensor& tensor : file.tensors()) tensors.push_back(tensor_json(tensor));
    object["tensors"] = std::move(tensors);
  }
  return object;
}

}  // namespace takt::apps
