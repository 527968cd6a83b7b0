#include "engine/rope_table.h"

#include <cmath>

namespace takt::engine {
namespace {
constexpr int64_t kPositionsPerGrowth = 1024;
}

RopeTable::RopeTable(const model::RopeSpec& rope, uint32_t rope_dim, std::vector<float> factors) : half_(rope_dim / 2) {
  for (int64_t i = 0; i < half_; ++i) {
    double frequency =
        std::pow(static_cast<double>(rope.base), -2.0 * static_cast<double>(i) / rope_dim) * rope.position_scale;
    if (!factors.empty()) frequency /= factors[static_cast<size_t>(i)];
    frequencies_.push_back(frequency);
  }
}

void RopeTable::extend(int64_t position_count) {
  const int64_t have = half_ == 0 ? position_count : static_cast<int64_t>(cos_.size()) / half_;
  if (position_count <= have) return;
  const int64_t want = (position_count + kPositionsPerGrowth - 1) / kPositionsPerGrowth * kPositionsPerGrowth;
  cos_.resize(static_cast<size_t>(want * half_));
  sin_.resize(static_cast<size_t>(want * half_));
  for (int64_t position = have; position < want; ++position) {
    for (int64_t i = 0; i < half_; ++i) {
      const double angle = static_cast<double>(position) * frequencies_[static_cast<size_t>(i)];
      cos_[static_cast<size_t>(position * half_ + i)] = static_cast<float>(std::cos(angle));
      sin_[static_cast<size_t>(position * half_ + i)] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace takt::engine
