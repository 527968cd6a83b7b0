// Cosines and sines of the rotary embedding, by position.
#pragma once

#include <cstdint>
#include <vector>

#include "model/network_spec.h"

namespace takt::engine {

// angle(p, i) = p × position_scale × base^(-2i / rope_dim) / factor[i] (Su et al., RoFormer, 2021), computed in double, stored
// as float32. Grows on demand and never shrinks: 8 bytes × rope_dim / 2 a position.
class RopeTable {
 public:
  RopeTable(const model::RopeSpec& rope, uint32_t rope_dim, std::vector<float> factors);
  // After this, cos() and sin() of positions below `position_count` are valid.
  void extend(int64_t position_count);
  const float* cos(int64_t position) const { return cos_.data() + position * half_; }  // [rope_dim / 2]
  const float* sin(int64_t position) const { return sin_.data() + position * half_; }

 private:
  int64_t half_;
  std::vector<double> frequencies_;  // [rope_dim / 2]
  std::vector<float> cos_, sin_;     // [positions, rope_dim / 2]
};

}  // namespace takt::engine
