#include "base/weight_format.h"

namespace takt::base {
namespace {

constexpr WeightFormatInfo kInfos[kWeightFormatCount] = {
    {WeightFormat::f32, 0, "F32", 1, 4},        {WeightFormat::f16, 1, "F16", 1, 2},
    {WeightFormat::bf16, 30, "BF16", 1, 2},     {WeightFormat::q4_0, 2, "Q4_0", 32, 18},
    {WeightFormat::q4_1, 3, "Q4_1", 32, 20},    {WeightFormat::q5_0, 6, "Q5_0", 32, 22},
    {WeightFormat::q5_1, 7, "Q5_1", 32, 24},    {WeightFormat::q8_0, 8, "Q8_0", 32, 34},
    {WeightFormat::q4_k, 12, "Q4_K", 256, 144}, {WeightFormat::q5_k, 13, "Q5_K", 256, 176},
    {WeightFormat::q6_k, 14, "Q6_K", 256, 210},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

const WeightFormatInfo& info(WeightFormat format) { return kInfos[static_cast<size_t>(format)]; }

std::optional<WeightFormat> weight_format_of_gguf_type(uint32_t gguf_type) {
  for (const auto& entry : kInfos)
    if (entry.gguf_type == gguf_type) return entry.format;
  return std::nullopt;
}

std::optional<WeightFormat> weight_format_of_name(std::string_view name) {
  for (const auto& entry : kInfos) {
    if (entry.name.size() != name.size()) continue;
    bool same = true;
    for (size_t i = 0; i < name.size(); ++i) same &= upper(name[i]) == entry.name[i];
    if (same) return entry.format;
  }
  return std::nullopt;
}

}  // namespace takt::base
