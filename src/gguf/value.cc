#include "gguf/value.h"

#include <array>
#include <bit>

namespace takt::gguf {

static_assert(std::endian::native == std::endian::little,
              "GGUF values are read in place: a big-endian host needs swaps");

namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
  bool is_integer;
};

constexpr std::array<TypeInfo, kValueTypeCount> kTypes = {{
    {"u8", 1, true},
    {"i8", 1, true},
    {"u16", 2, true},
    {"i16", 2, true},
    {"u32", 4, true},
    {"i32", 4, true},
    {"f32", 4, false},
    {"bool", 1, false},
    {"string", 0, false},
    {"array", 0, false},
    {"u64", 8, true},
    {"i64", 8, true},
    {"f64", 8, false},
}};

template <class T>
int64_t load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<int64_t>(value);
}

}  // namespace

std::string_view name(ValueType type) { return kTypes[static_cast<size_t>(type)].name; }
size_t stored_bytes(ValueType type) { return kTypes[static_cast<size_t>(type)].bytes; }
bool is_integer(ValueType type) { return kTypes[static_cast<size_t>(type)].is_integer; }

IntegerArray::IntegerArray(ValueType element_type, std::span<const std::byte> bytes)
    : element_type_(element_type), data_(bytes.data()), count_(bytes.size() / stored_bytes(element_type)) {}

int64_t IntegerArray::operator[](size_t index) const {
  const std::byte* at = data_ + index * stored_bytes(element_type_);
  switch (element_type_) {
    case ValueType::u8:
    case ValueType::boolean: return load<uint8_t>(at);
    case ValueType::i8: return load<int8_t>(at);
    case ValueType::u16: return load<uint16_t>(at);
    case ValueType::i16: return load<int16_t>(at);
    case ValueType::u32: return load<uint32_t>(at);
    case ValueType::i32: return load<int32_t>(at);
    default: return load<int64_t>(at);
  }
}

}  // namespace takt::gguf
