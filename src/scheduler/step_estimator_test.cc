#include "scheduler/step_estimator.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace takt::scheduler {
namespace {

using base::Micros;

StepShape shape(uint32_t prefill_tokens, uint32_t decode_rows, uint32_t position = 500) {
  StepShape shape;
  if (prefill_tokens > 0) shape.add_prefill(position, position + prefill_tokens, false);
  for (uint32_t i = 0; i < decode_rows; ++i) shape.add_decode(position);
  return shape;
}

// A machine whose steps take what the estimator's form allows: 20 ms, 10 ms for up to 32 rows, 2 ms a row beyond, and
// attention by the pair.
int64_t machine_us(const StepShape& shape) {
  const int64_t rows = shape.prefill_tokens + shape.decode_rows;
  return 20'000 + std::min<int64_t>(rows, 32) * 312 + std::max<int64_t>(rows - 32, 0) * 2'000 +
         static_cast<int64_t>(shape.prefill_pairs) / 10 + static_cast<int64_t>(shape.decode_positions) / 2 +
         shape.logits_rows * 500;
}

void teach(StepEstimator& estimator, const StepShape& shape, int times = 1) {
  for (int i = 0; i < times; ++i) estimator.learn(shape, Micros(machine_us(shape)));
}

double relative_error(const StepEstimator& estimator, const StepShape& shape) {
  const double real = static_cast<double>(machine_us(shape));
  return std::abs(static_cast<double>(estimator.predict(shape).count()) - real) / real;
}

TEST(StepEstimator, KnowsNothingAtFirst) {
  EXPECT_FALSE(StepEstimator().is_ready());
  EXPECT_EQ(StepEstimator().predict(shape(128, 4)), Micros(0));
}

TEST(StepEstimator, LearnsWhatStepsOfOtherSizesTake) {
  StepEstimator estimator;
  for (uint32_t rows : {1u, 2u, 4u, 8u}) teach(estimator, shape(0, rows), 5);
  for (uint32_t tokens : {16u, 64u, 256u, 512u})
    for (uint32_t rows : {0u, 4u}) teach(estimator, shape(tokens, rows), 2);
  teach(estimator, shape(64, 4, 4000), 3);
  EXPECT_LT(relative_error(estimator, shape(0, 3)), 0.05);
  EXPECT_LT(relative_error(estimator, shape(128, 4)), 0.05);
  EXPECT_LT(relative_error(estimator, shape(384, 2)), 0.05);
  EXPECT_LT(relative_error(estimator, shape(128, 4, 3000)), 0.08);
}

TEST(StepEstimator, AnHourOfDecodingDoesNotMakeItForgetPrompts) {
  StepEstimator estimator;
  for (uint32_t tokens : {32u, 64u, 128u, 256u}) teach(estimator, shape(tokens, 4), 3);
  teach(estimator, shape(0, 4), 100'000);
  EXPECT_LT(relative_error(estimator, shape(192, 4)), 0.05);
}

TEST(StepEstimator, FollowsAMachineThatBecameSlower) {
  StepEstimator estimator;
  for (uint32_t tokens : {32u, 64u, 128u, 256u}) teach(estimator, shape(tokens, 4), 10);
  const StepShape step = shape(128, 4);
  for (int i = 0; i < 12; ++i) estimator.learn(step, Micros(2 * machine_us(step)));
  const double now = static_cast<double>(estimator.predict(step).count()) / static_cast<double>(machine_us(step));
  EXPECT_GT(now, 1.6);
  EXPECT_LT(now, 2.4);
  for (int i = 0; i < 40; ++i) estimator.learn(step, Micros(machine_us(step)));
  EXPECT_LT(relative_error(estimator, step), 0.15) << "and back";
}

TEST(StepEstimator, TheMarginGrowsWithMissesAndShrinksWithout) {
  StepEstimator estimator;
  const StepShape step = shape(64, 4);
  teach(estimator, step, 10);
  const double before = estimator.margin();
  for (int i = 0; i < 5; ++i) {
    teach(estimator, step, 3);
    estimator.learn(step, Micros(3 * machine_us(step)));
  }
  EXPECT_GT(estimator.margin(), before + 0.05);
  EXPECT_GT(estimator.predict_high(step), estimator.predict(step));
  teach(estimator, step, 20'000);
  EXPECT_LT(estimator.margin(), before);
}

TEST(StepEstimator, PredictionsNeverFallWithMoreWork) {
  StepEstimator estimator;
  std::srand(7);
  for (int i = 0; i < 500; ++i) {
    const StepShape step = shape(static_cast<uint32_t>(std::rand() % 300), static_cast<uint32_t>(std::rand() % 9));
    estimator.learn(step, Micros(1'000 + std::rand() % 100'000));  // nonsense
  }
  for (uint32_t tokens = 1; tokens < 600; ++tokens)
    EXPECT_LE(estimator.predict(shape(tokens, 4)), estimator.predict(shape(tokens + 1, 4)));
}

TEST(StepEstimator, BearsABrokenClock) {
  StepEstimator estimator;
  estimator.learn(shape(1, 0), Micros(INT64_MAX));
  estimator.learn(shape(1, 0), Micros(-5));
  estimator.learn_between(Micros(-7));
  EXPECT_GE(estimator.predict(shape(UINT32_MAX / 2, 3)).count(), 0);
  EXPECT_GE(estimator.predict_high(shape(UINT32_MAX / 2, 3)).count(), 0);
}

}  // namespace
}  // namespace takt::scheduler
