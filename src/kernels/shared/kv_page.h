// One layer's page of keys and values in f16 (all sets but "ref"): per kv head [head_dim][32 positions] keys, the layout that the
// scores want with one lane a key, then [32 positions][head_dim] values. Magnitudes above 65504 are stored as 65504.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/canonical.h"

namespace takt::kernels {

constexpr TAKT_INLINE int64_t kv_head_halves(int64_t head_dim) { return 2 * kPageTokens * head_dim; }

template <class Isa>
void kv_store(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page) {
  const auto largest = Isa::set_f(65504.0f), smallest = Isa::set_f(-65504.0f);
  const auto bounded = [&](const float* x) TAKT_INLINE_LAMBDA {
    return Isa::min(largest, Isa::max(smallest, Isa::load_f(x)));  // NaN stays NaN: see Isa::max
  };
  const int64_t dim = shape.head_dim;
  for (int64_t head = 0; head < shape.kv_head_count; ++head) {
    auto* keys = reinterpret_cast<uint16_t*>(page) + head * kv_head_halves(dim);
    uint16_t* values = keys + kPageTokens * dim + slot * dim;
    for (int64_t i = 0; i < dim; i += Isa::kLanes) {
      uint16_t halves[Isa::kLanes];
      Isa::store_f16(halves, bounded(key + head * dim + i));
      for (int64_t lane = 0; lane < Isa::kLanes; ++lane) keys[(i + lane) * kPageTokens + slot] = halves[lane];
      Isa::store_f16(values + i, bounded(value + head * dim + i));
    }
  }
}

}  // namespace takt::kernels
