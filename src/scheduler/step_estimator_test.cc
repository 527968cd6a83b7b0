#include "scheduler/step_estimator.h"

#include <gtest/gtest.h>

namespace takt::scheduler {
namespace {

using base::Micros;

TEST(StepEstimator, KnowsNothingAtFirst) { EXPECT_EQ(StepEstimator().predict_max(128, 4), Micros(0)); }

TEST(StepEstimator, KeepsTheTwoKindsOfStepApart) {
  StepEstimator estimator;
  estimator.learn(0, 4, Micros(20'000));
  estimator.learn(4, 0, Micros(9'000));
  EXPECT_EQ(estimator.predict_max(0, 5), Micros(20'000));
  EXPECT_EQ(estimator.predict_max(3, 1), Micros(9'000));
}

TEST(StepEstimator, ScalesUpFromSmallerStepsAndTakesLargerOnesAsTheyAre) {
  StepEstimator estimator;
  estimator.learn(64, 0, Micros(100));
  EXPECT_EQ(estimator.predict_max(128, 0), Micros(200));
  EXPECT_EQ(estimator.predict_max(511, 0), Micros(400));
  EXPECT_EQ(estimator.predict_max(8, 0), Micros(100));
  EXPECT_EQ(estimator.predict_max(0, 8), Micros(100)) << "the other kind serves while nothing better is known";
}

TEST(StepEstimator, IsAMaximumThatFades) {
  StepEstimator estimator;
  estimator.learn(0, 1, Micros(64'000));
  estimator.learn(0, 1, Micros(10'000));
  EXPECT_EQ(estimator.predict_max(0, 1), Micros(62'000));
  for (int i = 0; i < 100; ++i) estimator.learn(0, 1, Micros(10'000));
  EXPECT_EQ(estimator.predict_max(0, 1), Micros(10'000));
}

TEST(StepEstimator, BearsABrokenClock) {
  StepEstimator estimator;
  estimator.learn(1, 0, Micros(INT64_MAX));
  EXPECT_GT(estimator.predict_max(UINT32_MAX, 0), Micros(0));
  estimator.learn(0, 1, Micros(-5));
  EXPECT_EQ(estimator.predict_max(0, 1), Micros(1));
}

}  // namespace
}  // namespace takt::scheduler
