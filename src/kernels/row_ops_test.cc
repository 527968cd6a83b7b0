// Row operations: every set against "portable" bit for bit, and "portable" against double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/shared/test_matrices.h"

namespace takt::kernels {
namespace {

using namespace testing;

constexpr int64_t kLengths[] = {1, 7, 8, 15, 16, 17, 31, 33, 64, 100, 576, 1003};

const KernelSet& portable() { return *select_kernel_set("portable"); }
const KernelSet& ref() { return *select_kernel_set("ref"); }

// Runs `operation(set, x, y, n, out)` in every set; returns the portable result, which the others must equal. One value beyond n
// is a guard.
using Operation = std::function<void(const KernelSet&, const float* x, const float* y, int64_t n, float* out)>;
std::vector<float> run_everywhere(const Operation& operation, const std::vector<float>& x,
                                  const std::vector<float>& y) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<float> expected(x.size() + 1, 77.0f);
  operation(portable(), x.data(), y.data(), n, expected.data());
  EXPECT_EQ(expected.back(), 77.0f);
  for (const KernelSet* set : kernel_sets()) {
    if (set->name == "ref" || !set->is_supported()) continue;
    std::vector<float> out(x.size() + 1, 77.0f);
    operation(*set, x.data(), y.data(), n, out.data());
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * 4), 0) << set->name << " n=" << n;
    std::vector<float> in_place(x);
    in_place.push_back(77.0f);
    operation(*set, in_place.data(), y.data(), n, in_place.data());
    EXPECT_EQ(std::memcmp(in_place.data(), expected.data(), out.size() * 4), 0) << set->name << " in place n=" << n;
  }
  expected.pop_back();
  return expected;
}

std::vector<float> run_ref(const Operation& operation, const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(x.size());
  operation(ref(), x.data(), y.data(), static_cast<int64_t>(x.size()), out.data());
  return out;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected, double relative, double absolute) {
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], relative * std::abs(expected[i]) + absolute) << "at " << i << " of " << got.size();
}

TEST(RowOps, RmsNorm) {
  Random random(1);
  const Operation norm = [](const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
    set.rms_norm(x, y, 1e-6f, n, out);
  };
  for (int64_t n : kLengths) {
    for (float deviation : {1e-3f, 1.0f, 1e4f}) {
      const auto x = random_floats(random, n, deviation), y = random_floats(random, n, 1.0f);
      expect_near(run_everywhere(norm, x, y), run_ref(norm, x, y), 1e-6, 0);
    }
  }
}

TEST(RowOps, AddAndScale) {
  Random random(2);
  const Operation sum = [](const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
    set.add(x, y, n, out);
  };
  const Operation product = [](const KernelSet& set, const float* x, const float*, int64_t n, float* out) {
    set.scale(x, 25.298f, n, out);
  };
  for (int64_t n : kLengths) {
    const auto x = random_floats(random, n, 1.0f), y = random_floats(random, n, 1.0f);
    expect_near(run_everywhere(sum, x, y), run_ref(sum, x, y), 0, 0);
    expect_near(run_everywhere(product, x, y), run_ref(product, x, y), 0, 0);
  }
}

const Operation kSilu = [](const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  set.silu_multiply(x, y, n, out);
};
const Operation kGelu = [](const KernelSet& set, const float* x, const float* y, int64_t n, float* out) {
  set.gelu_multiply(x, y, n, out);
};

TEST(RowOps, SiluAndGelu) {
  Random random(3);
  for (int64_t n : kLengths) {
    for (float deviation : {0.01f, 1.0f, 10.0f, 60.0f}) {
      const auto x = random_floats(random, n, deviation), y = random_floats(random, n, 1.0f);
      // Below -88.7 silu is 0 where 2e-37 would be exact. e^x has 0.9 ulp; the argument of gelu's e^-2u is rounded, which counts times |2u|.
      expect_near(run_everywhere(kSilu, x, y), run_ref(kSilu, x, y), 5e-7, 1e-35);
      expect_near(run_everywhere(kGelu, x, y), run_ref(kGelu, x, y), 2e-5, 1e-7);
    }
  }
}

// e^-x, seen through silu: x / silu(x) - 1 for x < 0 large enough that the 1 is a small part. Dense over all exponents.
TEST(RowOps, ExponentialIsAccurateEverywhere) {
  std::vector<float> x, ones;
  for (double v = 17; v < 86; v += 0.0037) x.push_back(static_cast<float>(-v)), ones.push_back(1);
  const auto got = run_everywhere(kSilu, x, ones);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = x[i] / (1 + std::exp(-static_cast<double>(x[i])));
    ASSERT_NEAR(got[i] / exact, 1, 3.5 * 0x1p-24)
        << x[i];  // 0.9 ulp (2^-23) at most of e^x, half of the sum and of the quotient
  }
}

TEST(RowOps, ActivationsOfExtremesAreFiniteOrZero) {
  const std::vector<float> x = {0.0f,   -0.0f,   1e-45f, -1e-45f, 1e-38f, 88.0f,  89.0f, -88.0f,    -89.0f,
                                104.0f, -104.0f, 1e10f,  -1e10f,  3e38f,  -3e38f, 1e20f, -INFINITY, 5.0f};
  const std::vector<float> ones(x.size(), 1.0f);
  for (const Operation& operation : {kSilu, kGelu}) {
    const auto got = run_everywhere(operation, x, ones);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isinf(x[i])) continue;
      EXPECT_TRUE(std::isfinite(got[i])) << x[i];
      if (x[i] > 20) {
        EXPECT_EQ(got[i], x[i]);
      }
      if (x[i] < -200) {
        EXPECT_EQ(got[i], 0.0f);
      }
    }
  }
}

TEST(RowOps, RopeOfBothPairings) {
  Random random(4);
  for (RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    for (int64_t dim : {16, 64, 80, 128, 256}) {
      for (int64_t rope_dim : {dim, dim / 2, dim / 2 + 2}) {
        const auto heads = random_floats(random, 3 * dim, 1.0f);
        std::vector<float> cos, sin;
        for (int64_t i = 0; i < rope_dim / 2; ++i) {
          const double angle = static_cast<double>(random() % 100000) * 0.01;
          cos.push_back(static_cast<float>(std::cos(angle))), sin.push_back(static_cast<float>(std::sin(angle)));
        }
        const auto rotated = [&](const KernelSet& set) {
          std::vector<float> out = heads;
          set.rope(out.data(), 3, dim, rope_dim, cos.data(), sin.data(), pairs);
          return out;
        };
        const auto expected = rotated(portable());
        for (const KernelSet* set : kernel_sets())
          if (set->name != "ref" && set->is_supported()) {
            EXPECT_EQ(rotated(*set), expected) << set->name << dim << rope_dim;
          }
        expect_near(expected, rotated(ref()), 0, 1e-6);
        for (int64_t head = 0; head < 3; ++head)
          for (int64_t i = rope_dim; i < dim; ++i)
            ASSERT_EQ(expected[static_cast<size_t>(head * dim + i)], heads[static_cast<size_t>(head * dim + i)]);
      }
    }
  }
}

}  // namespace
}  // namespace takt::kernels
