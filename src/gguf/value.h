// One metadata entry of a GGUF file: a view of its bytes in the file, checked once when the file was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace takt::gguf {

// The value types of the format, by the ids that files store.
enum class ValueType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
inline constexpr uint32_t kValueTypeCount = 13;

// "u32", "string", …
std::string_view name(ValueType type);
// Stored bytes of one number or bool; 0 for strings and arrays, whose length is stored with them.
size_t stored_bytes(ValueType type);
bool is_integer(ValueType type);

struct Value {
  std::string_view key;
  uint64_t key_offset = 0;  // byte offset of the entry in its file
  ValueType type = ValueType::u8;
  ValueType element_type = ValueType::u8;  // of an array; otherwise the same as type
  uint64_t count = 1;                      // elements of an array; 1 otherwise
  uint64_t offset = 0;                     // byte offset of the value (of an array: its first element) in its file
  std::span<const std::byte> bytes;        // a number's bytes, a string's characters, an array's elements as stored
  std::vector<std::string_view> strings;   // the elements of an array of strings; empty otherwise

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// The integers of an array of any integer type, or of bools as 0 and 1. Reads in place.
class IntegerArray {
 public:
  IntegerArray(ValueType element_type, std::span<const std::byte> bytes);
  size_t size() const { return count_; }
  // Precondition: index < size(). Every element fits int64 (checked where the array was made).
  int64_t operator[](size_t index) const;

 private:
  ValueType element_type_;
  const std::byte* data_;
  size_t count_;
};

// The numbers of an array of f32. Reads in place; the file may hold them unaligned.
class FloatArray {
 public:
  explicit FloatArray(std::span<const std::byte> bytes) : data_(bytes.data()), count_(bytes.size() / 4) {}
  size_t size() const { return count_; }
  // Precondition: index < size().
  float operator[](size_t index) const {
    float value;
    std::memcpy(&value, data_ + index * 4, sizeof value);
    return value;
  }

 private:
  const std::byte* data_;
  size_t count_;
};

}  // namespace takt::gguf
