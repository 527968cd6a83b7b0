#include "bench/roofline.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bench/ceiling_loops.h"

namespace takt::apps {
namespace {

Roofline sample() {
  Roofline roofline;
  roofline.machine = {
      "Processor (family 1, model 2, stepping 3)", 4, 2, {"sse2", "avx2"}, {{1, 32768}, {3, 1 << 25}}, 1 << 30};
  roofline.measured_at = "2026-01-02T03:04:05Z";
  roofline.ceilings = {{1, {{"int8_avx2", 100}, {"int8_avx512", 400}, {"f32_avx2", 50}, {"read_memory", 10}}},
                       {4, {{"int8_avx2", 400}, {"int8_avx512", 1600}, {"f32_avx2", 200}, {"read_memory", 16}}}};
  return roofline;
}

TEST(Roofline, JsonKeepsEverything) {
  const Roofline before = sample();
  auto after = roofline_of_json(to_json(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->machine, before.machine);
  EXPECT_EQ(after->measured_at, before.measured_at);
  ASSERT_EQ(after->ceilings.size(), 2u);
  EXPECT_EQ(after->ceilings[1].threads, 4);
  EXPECT_EQ(after->ceilings[1].rates, before.ceilings[1].rates);
}

TEST(Roofline, BrokenFilesAreErrors) {
  EXPECT_FALSE(roofline_of_json("{").ok());
  EXPECT_FALSE(roofline_of_json("[]").ok());
  EXPECT_FALSE(roofline_of_json(R"({"version": 999})").ok());
  std::string text = to_json(sample());
  text.replace(text.find("\"ceilings\""), 10, "\"nothing_\"");
  EXPECT_FALSE(roofline_of_json(text).ok());
}

TEST(Roofline, CeilingsAreThoseOfTheKernelSet) {
  EXPECT_EQ(ceilings_of(sample(), "avx2", 1).int8_per_s, 100);
  EXPECT_EQ(ceilings_of(sample(), "avx512", 4).int8_per_s, 1600);
  EXPECT_EQ(ceilings_of(sample(), "portable", 1).int8_per_s, 400);  // the best there is
  EXPECT_EQ(ceilings_of(sample(), "avx512", 1).float_per_s, 50);
  EXPECT_EQ(ceilings_of({}, "avx2", 1).int8_per_s, 0);
}

TEST(Roofline, BetweenMeasuredThreadCountsItIsLinear) {
  EXPECT_DOUBLE_EQ(ceilings_of(sample(), "avx2", 2).int8_per_s, 200);
  EXPECT_DOUBLE_EQ(ceilings_of(sample(), "avx2", 3).read_bytes_per_s, 14);
  EXPECT_EQ(ceilings_of(sample(), "avx2", 64).int8_per_s, 400);
}

TEST(Roofline, ThreadCounts) {
  EXPECT_EQ(thread_counts_up_to(1), std::vector<int>({1}));
  EXPECT_EQ(thread_counts_up_to(2), std::vector<int>({1, 2}));
  EXPECT_EQ(thread_counts_up_to(6), std::vector<int>({1, 2, 4, 6}));
}

TEST(Roofline, KeptForThisMachineOnly) {
  const auto folder = std::filesystem::temp_directory_path() / ("takt-roofline-" + std::to_string(::getpid()));
  ::setenv("TAKT_CACHE", folder.c_str(), 1);
  const Roofline roofline = sample();
  EXPECT_FALSE(try_load_roofline(roofline.machine).has_value());
  ASSERT_TRUE(store_roofline(roofline).ok());
  auto kept = try_load_roofline(roofline.machine);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->ceilings[0].rates, roofline.ceilings[0].rates);
  Machine other = roofline.machine;
  other.threads = 2;
  EXPECT_NE(roofline_path(other), roofline_path(roofline.machine));
  EXPECT_FALSE(try_load_roofline(other).has_value());
  other = roofline.machine;
  other.memory_bytes += 1;  // the same name of a file, and yet another machine
  EXPECT_FALSE(try_load_roofline(other).has_value());
  std::filesystem::remove_all(folder);
  ::unsetenv("TAKT_CACHE");
}

// They end, and return whole: the asserts of a broken clobber list would be crashes here.
TEST(CeilingLoops, RunAndReturn) {
  for (const CeilingLoop& loop : ceiling_loops()) {
    if (!loop.is_supported()) continue;
    EXPECT_GT(loop.operations_per_iteration, 0) << loop.name;
    loop.run(1);
    loop.run(1000);
  }
  std::vector<std::byte> bytes(8192 + 64);
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  read_lines(bytes.data() + (64 - address % 64) % 64, 64);
}

TEST(Machine, IsDetected) {
  const Machine machine = detect_machine();
  EXPECT_GE(machine.threads, 1);
  EXPECT_GE(machine.cores, 1);
  EXPECT_LE(machine.cores, machine.threads);
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_EQ(machine, detect_machine());
}

}  // namespace
}  // namespace takt::apps
