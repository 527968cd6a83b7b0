// The codes of KV formats: the rotation undoes itself, and the error of q4 is near the least that four bits allow.
#include "kernels/shared/kv_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/isa/vec_portable.h"

namespace takt::kernels {
namespace {

std::vector<float> gaussian(std::mt19937_64& random, int64_t n) {
  std::normal_distribution<float> distribution;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) value = distribution(random);
  return x;
}

double energy(const std::vector<float>& x) {
  double sum = 0;
  for (float value : x) sum += static_cast<double>(value) * value;
  return sum;
}

TEST(KvCode, RotationIsOrthonormalAndItsOwnInverse) {
  std::mt19937_64 random(1);
  for (int64_t n : {16, 64, 80, 96, 128, 256, 1024}) {
    const std::vector<float> x = gaussian(random, n);
    std::vector<float> y = x;
    rotate_head<Portable>(y.data(), n);
    EXPECT_NEAR(energy(y) / energy(x), 1.0, 1e-5) << n;
    EXPECT_NE(x, y);
    rotate_head<Portable>(y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5) << n;
  }
}

// Error energy relative to the vectors'.
template <class Encode, class Level>
double relative_error(int64_t n, const Encode& encode, const Level& level) {
  std::mt19937_64 random(2);
  double error = 0, total = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<float> x = gaussian(random, n);
    std::vector<int8_t> codes(x.size());
    const float scale = encode(x.data(), n, codes.data()).value;
    for (size_t i = 0; i < x.size(); ++i) error += std::pow(x[i] - level(codes[i]) * scale, 2);
    total += energy(x);
  }
  return error / total;
}

// Max (1960): sixteen levels leave a Gaussian 0.0095 of its energy at least, equal steps 0.0115. A scale fitted to each vector of 64 gets
// below, since it knows the vector.
TEST(KvCode, Q4IsNearTheBestThatFourBitsAllow) {
  const double error = relative_error(64, encode_q4<Portable>, [](int8_t code) { return float{kQ4Table[code]}; });
  EXPECT_LT(error, 0.0085);
  EXPECT_GT(error, 0.005);
}

TEST(KvCode, Q8ErrorIsThatOfItsStep) {
  const double error = relative_error(64, encode_q8<Portable>, [](int8_t code) { return float{code}; });
  EXPECT_LT(error, std::pow(4.0 / 127, 2) / 12);  // the largest of 64 is below 4 on nearly all
  EXPECT_GT(error, std::pow(1.5 / 127, 2) / 12);
}

TEST(KvCode, ZerosAndTinyVectorsAreZero) {
  for (float value : {0.0f, 1e-38f, -1e-30f}) {
    const std::vector<float> x(64, value);
    std::vector<int8_t> codes(64);
    const float scale_q8 = encode_q8<Portable>(x.data(), 64, codes.data()).value;
    for (int8_t code : codes) EXPECT_EQ(code * scale_q8, 0.0f);
    EXPECT_EQ(encode_q4<Portable>(x.data(), 64, codes.data()).value, 0.0f);
    for (int8_t code : codes) EXPECT_TRUE(code >= 0 && code < 16);
  }
}

TEST(KvCode, WideCodesHoldTheLargestSum) {
  const std::vector<float> x(kHeadDimMax, -3.0f);
  std::vector<int16_t> codes(x.size());
  const float scale = encode_wide(x.data(), kHeadDimMax, codes.data());
  EXPECT_EQ(codes[0], -16383);
  EXPECT_NEAR(codes[0] * scale, -3.0f, 1e-6);
  EXPECT_LT(int64_t{16383} * 127 * kHeadDimMax, int64_t{1} << 31);
}

}  // namespace
}  // namespace takt::kernels
