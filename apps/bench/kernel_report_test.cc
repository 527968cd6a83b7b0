#include "bench/kernel_report.h"

#include <gtest/gtest.h>

namespace takt::apps {
namespace {

KernelFigure figure(const std::string& name, double seconds) {
  KernelFigure out;
  out.name = name;
  out.seconds = seconds;
  out.operations = 1e9;
  out.bytes = 1e6;
  return out;
}

KernelRun run(std::vector<KernelFigure> figures) { return {"cpu", "avx2", 2, std::move(figures)}; }

TEST(KernelReport, JsonKeepsWhatAComparisonNeeds) {
  const KernelRun before = run({figure("linear Q4_0 16x32 rows 1", 0.25), figure("add 576", 1e-7)});
  auto after = kernel_run_of_json(to_json(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(why_not_comparable(*after, before), "");
  ASSERT_EQ(after->figures.size(), 2u);
  EXPECT_EQ(after->figures[1].name, "add 576");
  EXPECT_EQ(after->figures[1].seconds, 1e-7);
  EXPECT_EQ(after->figures[0].operations, 1e9);
}

TEST(KernelReport, OtherFilesAreErrors) {
  EXPECT_FALSE(kernel_run_of_json("").ok());
  EXPECT_FALSE(kernel_run_of_json("[1]").ok());
  EXPECT_FALSE(kernel_run_of_json(R"({"processor": "a", "kernels": "b", "threads": 1})").ok());
  EXPECT_FALSE(kernel_run_of_json(to_json(run({figure("zero", 0)}))).ok());
}

TEST(KernelReport, OnlyLikeIsComparedWithLike) {
  KernelRun other = run({});
  other.kernel_set = "avx512";
  EXPECT_NE(why_not_comparable(run({}), other), "");
  other = run({});
  other.threads = 1;
  EXPECT_NE(why_not_comparable(run({}), other), "");
  other = run({});
  other.processor = "another";
  EXPECT_NE(why_not_comparable(run({}), other), "");
}

TEST(KernelReport, SlowdownsBeyondTheNoiseWorstFirst) {
  const KernelRun before = run({figure("a", 1), figure("b", 1), figure("c", 1), figure("gone", 1)});
  const KernelRun now = run({figure("a", 1.05), figure("b", 1.25), figure("c", 2), figure("new", 9)});
  const auto slower = slowdowns(now, before, 10);
  ASSERT_EQ(slower.size(), 2u);
  EXPECT_EQ(slower[0].name, "c");
  EXPECT_DOUBLE_EQ(slower[0].speed_percent, 50);
  EXPECT_EQ(slower[1].name, "b");
  EXPECT_TRUE(slowdowns(now, before, 60).empty());
}

TEST(KernelReport, TheShareIsTheHigherOne) {
  Roofline roofline;
  roofline.ceilings = {{1, {{"int8_avx2", 2e9}, {kReadMemory, 1e7}}}};
  const kernels::KernelSet& set = *kernels::select_kernel_set("portable");
  KernelBench bench;
  bench.set = &set;
  bench.roofline = &roofline;
  KernelFigure half = figure("half", 1);
  set_share(bench, Bound::int8, Bound::memory, half);
  EXPECT_DOUBLE_EQ(half.share_percent, 50);
  EXPECT_EQ(half.bound, Bound::int8);
  half.bytes = 9e6;
  set_share(bench, Bound::int8, Bound::memory, half);
  EXPECT_DOUBLE_EQ(half.share_percent, 90);
  EXPECT_EQ(half.bound, Bound::memory);
}

}  // namespace
}  // namespace takt::apps
