#include "base/kv_format.h"

namespace takt::base {
namespace {

constexpr std::string_view kNames[kKvFormatCount] = {"f32", "f16", "bf16", "q8_0", "q4"};

}  // namespace

std::string_view kv_format_name(KvFormat format) { return kNames[static_cast<int>(format)]; }

std::optional<KvFormat> find_kv_format(std::string_view name) {
  for (int i = 0; i < kKvFormatCount; ++i)
    if (kNames[i] == name) return static_cast<KvFormat>(i);
  return {};
}

std::string known_kv_formats() {
  std::string names;
  for (std::string_view name : kNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::string kv_formats_name(KvFormats formats) {
  std::string name(kv_format_name(formats.keys));
  return formats.keys == formats.values ? name : name + "-" + std::string(kv_format_name(formats.values));
}

}  // namespace takt::base
