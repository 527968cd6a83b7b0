#include "cost/fitted/fit_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace takt::cost {
namespace {

// A machine whose costs bend as real kernels' do.
double true_us(const StepFeatures& f) {
  const auto tokens = static_cast<double>(f.tokens);
  const double rows = f.tokens <= 32 ? 10'000 + 150 * tokens : 8'000 + 210 * tokens;
  return rows + 90 * static_cast<double>(f.sampled_rows) + 0.02 * static_cast<double>(f.prefill_pairs) +
         0.9 * static_cast<double>(f.decode_positions);
}

// Numbers in [0, 1) from a fixed sequence.
class Sequence {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(next() * static_cast<double>(bound)); }

 private:
  uint64_t state_ = 7;
};

StepFeatures random_features(Sequence& random) {
  StepFeatures f;
  const int64_t rows = random.below(13);
  f.prefill_tokens = rows == 0 || random.below(3) == 0 ? 1 + random.below(512) : 0;
  f.chunks = f.prefill_tokens > 0 ? 1 : 0;
  f.tokens = f.prefill_tokens + rows;
  f.sampled_rows = rows + (f.prefill_tokens > 0 ? random.below(2) : 0);
  f.prefill_pairs = f.prefill_tokens * (f.prefill_tokens + 1) / 2 + f.prefill_tokens * random.below(3000);
  f.decode_positions = rows * (1 + random.below(2000));
  return f;
}

// Errors within 2 %, and one step in 50 three times as long.
std::vector<StepSample> random_samples(int count) {
  Sequence random;
  std::vector<StepSample> samples;
  for (int i = 0; i < count; ++i) {
    StepSample sample;
    sample.features = random_features(random);
    const double noise = random.below(50) == 0 ? 3 : 0.98 + 0.04 * random.next();
    sample.duration = base::Micros(std::llround(true_us(sample.features) * noise));
    sample.host = base::Micros(200 + 10 * sample.features.sampled_rows);
    samples.push_back(sample);
  }
  return samples;
}

TEST(FitCost, FindsTheMachineInSpiteOfOutliers) {
  const auto fit = fit_cost(random_samples(2000));
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  const FittedCost cost(fit->coefficients);
  Sequence random;
  for (int i = 0; i < 3; ++i) random.next();  // other steps than those fitted
  for (int i = 0; i < 500; ++i) {
    const StepFeatures features = random_features(random);
    const auto predicted = static_cast<double>(cost.predict(features).count());
    // The knots lie on both of the true lines, so only the noise remains; 5 % is beyond any mean of it.
    EXPECT_NEAR(predicted / true_us(features), 1, 0.05) << features.tokens << " tokens";
  }
  EXPECT_NEAR(fit->coefficients.host_fixed_us, 200, 1);
  EXPECT_NEAR(fit->coefficients.host_row_us, 10, 0.1);
}

TEST(FitCost, KnowsItsErrorsAndTheScatter) {
  const auto fit = fit_cost(random_samples(2000));
  ASSERT_TRUE(fit.ok());
  for (const FitError& error : fit->errors) {
    EXPECT_GT(error.count, 100u);
    EXPECT_LT(error.p50, 0.04);
    EXPECT_GT(error.p99, 0.5) << "one step in 50 takes three times as long: its relative error is 2/3";
    EXPECT_LT(error.total, 1);
  }
  for (const auto& noise : fit->coefficients.noise) {
    ASSERT_FALSE(noise.empty());
    EXPECT_NEAR(noise.back(), 3, 0.3);
    EXPECT_NEAR(noise[noise.size() / 2], 1, 0.05);
  }
}

TEST(FitCost, RefusesAHandfulOfSteps) { EXPECT_FALSE(fit_cost(random_samples(19)).ok()); }

TEST(FitCost, AFewKindsOfStepsAreEnough) {
  // Only single decode rows at one position: nothing tells the coefficients apart, but the sum is known.
  std::vector<StepSample> samples(30);
  for (StepSample& sample : samples) {
    sample.features.tokens = sample.features.sampled_rows = 1;
    sample.features.decode_positions = 100;
    sample.duration = base::Micros(5000);
  }
  const auto fit = fit_cost(samples);
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  EXPECT_NEAR(static_cast<double>(FittedCost(fit->coefficients).predict(samples[0].features).count()), 5000, 50);
}

contract::StepPlan decode_plan(uint64_t step) {
  contract::StepPlan plan;
  plan.step = step;
  plan.decode_rows.push_back({contract::RequestId{1}, 9, {}, {}});
  return plan;
}

CostCoefficients some_coefficients() {
  CostCoefficients c;
  c.knots = {{1, 1000}, {4, 1300}, {8, 2000.25}};
  c.sampled_us = 10;
  c.position_us = 0.5;
  c.host_fixed_us = 30;
  c.noise[0] = {0.5, 1, 4};
  return c;
}

TEST(FittedCost, AddsItsTerms) {
  const FittedCost cost(some_coefficients());
  EXPECT_EQ(cost.predict(decode_plan(1)).count(), 1000 + 10 + 5);
  EXPECT_EQ(cost.predict_host(decode_plan(1)).count(), 30);
  EXPECT_DOUBLE_EQ(rows_us(cost.coefficients().knots, 2), 1100);
  EXPECT_DOUBLE_EQ(rows_us(cost.coefficients().knots, 12), 2000.25 + 700.25) << "the last slope goes on";
}

TEST(FittedCost, ItsNoiseIsAFunctionOfSeedAndStep) {
  const FittedCost typical(some_coefficients());
  const NoisyCost noisy(typical, 7), other(typical, 8);
  int64_t below = 0, differ = 0, alike = 0;
  for (uint64_t step = 1; step <= 1000; ++step) {
    const auto us = noisy.predict(decode_plan(step)).count();
    EXPECT_EQ(us, noisy.predict(decode_plan(step)).count());
    EXPECT_GE(us, 507);  // half of 1,015
    EXPECT_LE(us, 4060);
    below += us <= 1015 ? 1 : 0;
    differ += us != other.predict(decode_plan(step)).count() ? 1 : 0;
    alike += (us <= 1015) == (noisy.predict(decode_plan(step + 1)).count() <= 1015) ? 1 : 0;
  }
  // The median is the typical time: 500 of 1,000 draws, with a deviation of 16 were they independent; neighbours that are alike make it 24.
  EXPECT_NEAR(static_cast<double>(below), 500, 96);
  // Two normals correlated by 1/2 are on the same side of their mean in 1/2 + asin(1/2) / pi = 2/3 of all cases.
  EXPECT_NEAR(static_cast<double>(alike), 667, 96);
  EXPECT_GT(differ, 900);
}

TEST(CostFile, ReadsBackWhatItWrote) {
  const CostCoefficients before = some_coefficients();
  const auto after = parse_cost(to_text(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_TRUE(before == *after);
}

TEST(CostFile, NamesTheLineThatIsWrong) {
  const auto error_of = [](std::string_view text) {
    const auto parsed = parse_cost(text);
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  EXPECT_NE(error_of("").find("'takt-cost 1' expected"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 2\n").find("line 1"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\nknot 1\n").find("line 2: 'knot"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\nknot 1 5\nfoo 3\n").find("line 3: unknown name 'foo'"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\nknot 4 5\nknot 4 6\n").find("do not ascend"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\nknot 1 5\nsampled_us nan\n").find("coefficient"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\nknot 1 -5\n").find("time"), std::string::npos);
  EXPECT_NE(error_of("takt-cost 1\n").find("no knot"), std::string::npos);
}

}  // namespace
}  // namespace takt::cost
