// Writes JSON text piece by piece. Numbers come out in their shortest exact form, without exponents where readable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace takt::server {

// Commas are placed automatically; the caller keeps objects and arrays balanced and gives each value in an object a key. Strings
// must be valid UTF-8 (see replace_invalid_utf8). Not-finite numbers are written as null.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& integer(int64_t value);
  JsonWriter& unsigned_integer(uint64_t value);
  JsonWriter& number(double value);
  JsonWriter& number(float value);  // the shortest digits that read back as the same float
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  std::string take() { return std::move(text_); }

 private:
  void separate();
  template <class Float>
  JsonWriter& floating(Float value);

  std::string text_;
  bool needs_comma_ = false;
};

// Each maximal invalid part becomes one U+FFFD.
std::string replace_invalid_utf8(std::string_view bytes);

}  // namespace takt::server
