// The formats that keys and values of attention are kept in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::base {

enum class KvFormat : uint8_t {
  f32,   // as computed; kernel set "ref" only
  f16,   // rounded to binary16, ±65504 at most
  bf16,  // rounded to bfloat16
  q8_0,  // rotated; eight bits a value and one scale per head vector
  q4,    // rotated; four bits a value and one scale per head vector
};
inline constexpr int kKvFormatCount = 5;

struct KvFormats {
  KvFormat keys = KvFormat::f16;
  KvFormat values = KvFormat::f16;
  bool operator==(const KvFormats&) const = default;
};

// "f16", "q8_0", …
std::string_view kv_format_name(KvFormat format);
// Nothing: no format has this name.
std::optional<KvFormat> find_kv_format(std::string_view name);
// All names, separated by ", ".
std::string known_kv_formats();
// "f16", or "q8_0-q4" where keys and values differ.
std::string kv_formats_name(KvFormats formats);

}  // namespace takt::base
