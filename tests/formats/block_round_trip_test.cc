// encode_row against decode_row: what gguf/ writes, kernels/ must read. It spans two folders that may not see each
// other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/weight_format.h"
#include "gguf/block_encode.h"
#include "kernels/shared/row_decode.h"

namespace takt {
namespace {

using base::WeightFormat;

std::vector<float> through(WeightFormat format, const std::vector<float>& weights) {
  const base::WeightFormatInfo& info = base::info(format);
  std::vector<std::byte> blocks(weights.size() / info.block_weights * info.block_bytes);
  gguf::encode_row(format, weights.data(), static_cast<int64_t>(weights.size()), blocks.data());
  std::vector<float> decoded(weights.size());
  kernels::decode_row(format, blocks.data(), static_cast<int64_t>(weights.size()), decoded.data());
  return decoded;
}

// The largest error that encode_row's definition allows for a block: half a step, and a step more where stored scales
// are themselves rounded to six or eight bits. `largest` is the block's largest magnitude, `range` its maximum minus
// minimum.
float error_bound(WeightFormat format, float largest, float range) {
  constexpr float kHalfPrecision = 0x1p-11f, kBf16Precision = 0x1p-8f;
  switch (format) {
    case WeightFormat::f32: return 0.0f;
    case WeightFormat::f16: return largest * kHalfPrecision;
    case WeightFormat::bf16: return largest * kBf16Precision;
    case WeightFormat::q4_0: return largest / 8 * 1.01f;  // +8 steps does not exist: a whole step at that end
    case WeightFormat::q4_1: return range / 15 * 0.51f + largest * 2 * kHalfPrecision;
    case WeightFormat::q5_0: return largest / 16 * 1.01f;
    case WeightFormat::q5_1: return range / 31 * 0.51f + largest * 2 * kHalfPrecision;
    case WeightFormat::q8_0: return largest / 127 * 0.6f;
    case WeightFormat::q4_k: return range / 15 * 1.5f;
    case WeightFormat::q5_k: return range / 31 * 2.0f;
    case WeightFormat::q6_k: return largest / 32 * 1.3f;
  }
  return 0.0f;
}

class BlockRoundTrip : public testing::TestWithParam<int> {
 protected:
  WeightFormat format() const { return static_cast<WeightFormat>(GetParam()); }
};

TEST_P(BlockRoundTrip, ErrorIsWithinAStep) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 200; ++round) {
    const float scale = std::ldexp(1.0f, round % 16 - 8), shift = round % 3 == 0 ? scale : 0.0f;
    std::vector<float> weights(256);
    for (float& weight : weights) weight = normal(random) * scale + shift;
    const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
    // Q4_K and Q5_K have no minimum above zero and no maximum below it.
    const float range = std::max(*high, 0.0f) - std::min(*low, 0.0f), largest = std::max(*high, -*low);
    const std::vector<float> decoded = through(format(), weights);
    for (size_t i = 0; i < weights.size(); ++i)
      ASSERT_NEAR(decoded[i], weights[i], error_bound(format(), largest, range))
          << "weight " << i << " of round " << round;
  }
}

TEST_P(BlockRoundTrip, ZerosStayZeros) {
  for (const float weight : through(format(), std::vector<float>(256, 0.0f))) ASSERT_EQ(weight, 0.0f);
}

// Sixteen evenly spaced values that the format can hold exactly must come back exactly.
TEST(BlockRoundTripOfSteps, IsExact) {
  std::vector<float> weights(256);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(static_cast<int>(i % 16) - 8) * 0.25f;
  for (const WeightFormat format : {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16, WeightFormat::q4_0,
                                    WeightFormat::q4_1, WeightFormat::q5_0})
    EXPECT_EQ(through(format, weights), weights) << base::info(format).name;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockRoundTrip, testing::Range(0, base::kWeightFormatCount), [](const auto& param) {
  return std::string(base::info(static_cast<WeightFormat>(param.param)).name);
});

}  // namespace
}  // namespace takt
