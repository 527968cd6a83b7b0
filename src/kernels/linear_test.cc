// Linear layers: every set that this machine supports against "portable" bit for bit, prefill against decode bit for bit, and all
// against "ref" within a bound computed from the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/shared/row_decode.h"
#include "kernels/shared/test_matrices.h"

namespace takt::kernels {
namespace {

using base::WeightFormat;
using namespace testing;

constexpr float kUntouched = 12345.0f;

std::vector<const KernelSet*> canonical_sets() {
  std::vector<const KernelSet*> out;
  for (const KernelSet* set : kernel_sets())
    if (set->name != "ref" && set->is_supported()) out.push_back(set);
  return out;
}

const KernelSet& portable() { return *select_kernel_set("portable"); }
const KernelSet& ref() { return *select_kernel_set("ref"); }

struct Case {
  WeightFormat format;
  int64_t n, k, m;
  std::vector<std::byte> rows;
  std::vector<float> x;
};

// out [m, n + 3]: the three columns beyond the matrix must stay untouched.
std::vector<float> run(const KernelSet& set, const Case& c, bool is_prefill, const std::vector<int64_t>& panel_cuts) {
  const Packed packed = pack_for(set, c.format, c.rows, c.n, c.k);
  const ActivationKind kind = set.activation_kind(c.format);
  const AlignedBytes activations = prepare_for(set, kind, c.x, c.m, c.k);
  const AlignedBytes scratch(set.linear_prefill_scratch_bytes(c.format, c.k));
  const int64_t stride = c.n + 3;
  std::vector<float> out(static_cast<size_t>(c.m * stride), kUntouched);
  for (size_t i = 0; i + 1 < panel_cuts.size(); ++i) {
    if (is_prefill) {
      set.linear_prefill(packed.matrix, activations.data(), c.m, panel_cuts[i], panel_cuts[i + 1], out.data(), stride,
                         scratch.data());
      continue;
    }
    for (int64_t row = 0; row < c.m; row += set.decode_rows_max) {
      const int64_t rows = std::min<int64_t>(set.decode_rows_max, c.m - row);
      set.linear_decode(packed.matrix,
                        activations.data() + static_cast<size_t>(row) * set.activation_row_bytes(kind, c.k), rows,
                        panel_cuts[i], panel_cuts[i + 1], out.data() + row * stride, stride);
    }
  }
  return out;
}

std::vector<int64_t> random_cuts(Random& random, int64_t panels) {
  std::vector<int64_t> cuts = {0};
  while (cuts.back() < panels) cuts.push_back(std::min<int64_t>(panels, cuts.back() + 1 + random() % 4));
  return cuts;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string describe(const KernelSet& set, const Case& c) {
  return std::string(set.name) + " " + std::string(base::info(c.format).name) + " n=" + std::to_string(c.n) +
         " k=" + std::to_string(c.k) + " m=" + std::to_string(c.m);
}

Case random_case(Random& random, WeightFormat format, int64_t m, Fill fill = Fill::random) {
  Case c{format, static_cast<int64_t>(1 + random() % 70), 0, m, {}, {}};
  const int64_t block = base::info(format).block_weights;
  c.k = block == 1 ? 1 + random() % 200 : block * (1 + random() % (block == 32 ? 12 : 3));
  c.rows = random_weights(random, format, c.n, c.k, fill);
  c.x = random_floats(random, c.m * c.k, 1.0f);
  return c;
}

class EveryFormat : public ::testing::TestWithParam<int> {
 protected:
  WeightFormat format() const { return static_cast<WeightFormat>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Linear, EveryFormat, ::testing::Range(0, base::kWeightFormatCount), [](const auto& param) {
  return std::string(base::info(static_cast<WeightFormat>(param.param)).name);
});

TEST_P(EveryFormat, SetsAndPhasesAgreeBitForBitForRowCounts1To65) {
  Random random(static_cast<uint32_t>(100 + GetParam()));
  for (int64_t m = 1; m <= 65; ++m) {
    const Case c = random_case(random, format(), m);
    const int64_t panels = panel_count(c.n);
    const std::vector<float> expected = run(portable(), c, false, {0, panels});
    for (const KernelSet* set : canonical_sets()) {
      EXPECT_TRUE(same_bits(expected, run(*set, c, false, random_cuts(random, panels))))
          << "decode " << describe(*set, c);
      EXPECT_TRUE(same_bits(expected, run(*set, c, true, random_cuts(random, panels))))
          << "prefill " << describe(*set, c);
    }
    for (int64_t row = 0; row < m; ++row)
      for (int64_t i = 0; i < 3; ++i) ASSERT_EQ(expected[static_cast<size_t>(row * (c.n + 3) + c.n + i)], kUntouched);
    if (HasFailure()) return;
  }
}

// A row's bits do not depend on its neighbours.
TEST_P(EveryFormat, ARowAloneEqualsTheRowAmongOthers) {
  Random random(static_cast<uint32_t>(200 + GetParam()));
  const Case all = random_case(random, format(), 37);
  for (const KernelSet* set : canonical_sets()) {
    const std::vector<float> together = run(*set, all, true, {0, panel_count(all.n)});
    for (int64_t row : {0, 5, 36}) {
      Case one = all;
      one.m = 1;
      one.x.assign(all.x.begin() + row * all.k, all.x.begin() + (row + 1) * all.k);
      const std::vector<float> alone = run(*set, one, false, {0, panel_count(all.n)});
      EXPECT_EQ(std::memcmp(alone.data(), together.data() + row * (all.n + 3), static_cast<size_t>(all.n) * 4), 0)
          << describe(*set, all) << " row " << row;
    }
  }
}

// |canonical - ref| per output: each activation is off by at most half a step of its block's scale (max / 254, and a few float32
// roundings), so the error is at most Σ |w| × max / 254, plus float32 rounding of a sum of k terms.
TEST_P(EveryFormat, IsAsNearToTheReferenceAsActivationRoundingAllows) {
  Random random(static_cast<uint32_t>(300 + GetParam()));
  const Case c = random_case(random, format(), 9);
  const std::vector<float> expected = run(ref(), c, false, {0, panel_count(c.n)});
  const std::vector<float> got = run(portable(), c, false, {0, panel_count(c.n)});
  const bool is_q8 = portable().activation_kind(format()) == ActivationKind::q8;
  const size_t row_bytes = c.rows.size() / static_cast<size_t>(c.n);
  std::vector<float> weights(static_cast<size_t>(c.k));
  double error_squares = 0, value_squares = 0;
  for (int64_t col = 0; col < c.n; ++col) {
    decode_row(format(), c.rows.data() + static_cast<size_t>(col) * row_bytes, c.k, weights.data());
    for (int64_t row = 0; row < c.m; ++row) {
      double bound = 0;
      for (int64_t i = 0; i < c.k; i += 32) {
        double most = 0, sum = 0, products = 0;
        for (int64_t j = i; j < std::min(c.k, i + 32); ++j) {
          const double x = std::abs(c.x[static_cast<size_t>(row * c.k + j)]),
                       w = std::abs(weights[static_cast<size_t>(j)]);
          most = std::max(most, x), sum += w, products += w * x;
        }
        bound += (is_q8 ? sum * most / 254 * 1.0001 : 0) + products * 1e-5;
      }
      const size_t at = static_cast<size_t>(row * (c.n + 3) + col);
      EXPECT_LE(std::abs(expected[at] - got[at]), bound + 1e-12)
          << describe(portable(), c) << " at " << row << ", " << col;
      error_squares += std::pow(expected[at] - got[at], 2), value_squares += std::pow(expected[at], 2);
    }
  }
  // Uniform rounding of normal values at max ≈ 2.3 deviations: 0.5 % of the output's norm; a wrong block would show as 100 %.
  EXPECT_LE(std::sqrt(error_squares), (is_q8 ? 0.015 : 1e-6) * std::sqrt(value_squares) + 1e-9);
}

// IK#141: where 8-bit weights × 8-bit activations are summed in 16 bits they must not saturate. Extremes of both signs.
TEST_P(EveryFormat, ExtremeWeightsAndActivationsAgreeBitForBit) {
  Random random(static_cast<uint32_t>(400 + GetParam()));
  for (Fill fill : {Fill::all_zero_bits, Fill::all_one_bits, Fill::alternating}) {
    for (int sign_pattern = 0; sign_pattern < 4; ++sign_pattern) {
      Case c = random_case(random, format(), 10, fill);
      for (size_t i = 0; i < c.x.size(); ++i) c.x[i] = ((sign_pattern >> (i % 2)) & 1) != 0 ? -3.0f : 3.0f;
      const std::vector<float> expected = run(portable(), c, false, {0, panel_count(c.n)});
      for (float value : expected) ASSERT_TRUE(std::isfinite(value));
      for (const KernelSet* set : canonical_sets()) {
        EXPECT_TRUE(same_bits(expected, run(*set, c, false, {0, panel_count(c.n)}))) << "decode " << describe(*set, c);
        EXPECT_TRUE(same_bits(expected, run(*set, c, true, {0, panel_count(c.n)}))) << "prefill " << describe(*set, c);
      }
    }
  }
}

// Q8_0 at -128 and 127 against activations at ±127: the sum is known exactly.
TEST(Linear, SixteenBitSumsOfQ8_0DoNotSaturate) {
  const int64_t k = 64, n = 16;
  for (int weight : {-128, 127}) {
    for (float x : {-1.0f, 1.0f}) {
      std::vector<std::byte> rows(static_cast<size_t>(n * 2 * 34), static_cast<std::byte>(weight));
      const uint16_t one = base::float_to_half(1.0f);
      for (size_t at = 0; at < rows.size(); at += 34) std::memcpy(&rows[at], &one, 2);
      const Case c{WeightFormat::q8_0, n, k, 1, rows, std::vector<float>(static_cast<size_t>(k), x)};
      for (const KernelSet* set : canonical_sets()) {
        const std::vector<float> out = run(*set, c, false, {0, 1});
        EXPECT_NEAR(out[0], static_cast<float>(weight) * x * 64, 1e-3) << set->name;
        EXPECT_TRUE(same_bits(out, run(*set, c, true, {0, 1})));
      }
    }
  }
}

TEST(Linear, HugeTinyAndZeroActivationsAgreeAndStayFinite) {
  Random random(7);
  for (float magnitude : {0.0f, 1e-40f, 1e-30f, 1e6f, 1e30f}) {
    for (WeightFormat format :
         {WeightFormat::q4_0, WeightFormat::q4_k, WeightFormat::q6_k, WeightFormat::q8_0, WeightFormat::f16}) {
      Case c = random_case(random, format, 11);
      for (float& x : c.x) x *= magnitude;
      const std::vector<float> expected = run(portable(), c, false, {0, panel_count(c.n)});
      for (float value : expected) ASSERT_TRUE(std::isfinite(value)) << magnitude;
      for (const KernelSet* set : canonical_sets()) {
        EXPECT_TRUE(same_bits(expected, run(*set, c, false, {0, panel_count(c.n)}))) << describe(*set, c) << magnitude;
        EXPECT_TRUE(same_bits(expected, run(*set, c, true, {0, panel_count(c.n)}))) << describe(*set, c) << magnitude;
      }
    }
  }
}

// An infinite or NaN activation must be seen in every output of its row, and in no other row.
TEST(Linear, ABrokenActivationMakesItsWholeRowNaN) {
  Random random(8);
  for (float broken : {INFINITY, -INFINITY, NAN}) {
    Case c = random_case(random, WeightFormat::q4_k, 3);
    c.x[static_cast<size_t>(c.k + 5)] = broken;
    for (const KernelSet* set : canonical_sets()) {
      const std::vector<float> out = run(*set, c, false, {0, panel_count(c.n)});
      for (int64_t row = 0; row < 3; ++row)
        for (int64_t col = 0; col < c.n; ++col)
          EXPECT_EQ(std::isnan(out[static_cast<size_t>(row * (c.n + 3) + col)]), row == 1) << set->name;
    }
  }
}

TEST(Linear, PreparedRowsAgreeBitForBit) {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    const int64_t k = 32 * (1 + random() % 9);
    std::vector<float> x = random_floats(random, k, std::ldexp(1.0f, static_cast<int>(random() % 200) - 140));
    if (i % 3 == 0) x[random() % x.size()] *= 1000;
    for (ActivationKind kind : {ActivationKind::q8, ActivationKind::f32}) {
      const AlignedBytes expected = prepare_for(portable(), kind, x, 1, k);
      for (const KernelSet* set : canonical_sets()) {
        const AlignedBytes got = prepare_for(*set, kind, x, 1, k);
        ASSERT_EQ(got.size() % 64, 0u);
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size()), 0) << set->name << " k=" << k;
      }
    }
  }
}

// The packed size is the file's within 3 % (full panels).
TEST_P(EveryFormat, PackedSizeIsTheFilesSize) {
  const int64_t n = 64, k = 2048;
  const auto& info = base::info(format());
  const double file_bytes = static_cast<double>(n * k / info.block_weights * info.block_bytes);
  EXPECT_NEAR(static_cast<double>(portable().packed_bytes(format(), n, k)) / file_bytes, 1.0, 0.03);
}

}  // namespace
}  // namespace takt::kernels
