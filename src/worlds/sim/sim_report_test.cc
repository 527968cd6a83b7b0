#include "worlds/sim/sim_report.h"

#include <gtest/gtest.h>

namespace takt::worlds {
namespace {

TEST(Percentiles, AreNearestRanks) {
  std::vector<base::Micros> samples;
  for (int i = 200; i >= 1; --i) samples.push_back(base::Micros(i));
  const Percentiles result = percentiles(samples);
  EXPECT_EQ(result.count, 200u);
  EXPECT_EQ(result.mean.count(), 100);
  EXPECT_EQ(result.p50.count(), 100);
  EXPECT_EQ(result.p90.count(), 180);
  EXPECT_EQ(result.p99.count(), 198);
  EXPECT_EQ(result.max.count(), 200);
  EXPECT_EQ(percentiles({}).count, 0u);
  EXPECT_EQ(percentiles({base::Micros(7)}).p50.count(), 7);
}

}  // namespace
}  // namespace takt::worlds
