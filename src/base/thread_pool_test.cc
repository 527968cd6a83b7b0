#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace takt::base {

TEST(ThreadPool, EveryItemOnceWhateverTheThreadCount) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (int count : {0, 1, 2, 5, 100}) {
      std::vector<int> split_hits(count), each_hits(count);
      pool.split(count, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) ++split_hits[i];
      });
      pool.each(count, [&](int64_t item, int) { ++each_hits[item]; });
      EXPECT_EQ(split_hits, std::vector<int>(count, 1));
      EXPECT_EQ(each_hits, std::vector<int>(count, 1));
    }
  }
}

// Each thread number belongs to one thread at a time: unguarded sums by number would lose additions otherwise.
TEST(ThreadPool, ManyShortJobsAndParkedWorkers) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(3 * 16);
  const auto add = [&](int64_t item, int thread) { sums[static_cast<size_t>(thread) * 16] += item + 1; };
  constexpr int kJobs = 20000;
  for (int i = 0; i < kJobs; ++i) pool.each(4, add);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for the workers to park
  pool.each(4, add);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), (kJobs + 1) * 10);
}

// Results of one job are there for the next, on whichever thread it runs.
TEST(ThreadPool, AJobSeesWhatTheOneBeforeWrote) {
  ThreadPool pool(2);
  std::vector<int> values(64);
  for (int round = 0; round < 2000; ++round) {
    pool.split(64, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++values[static_cast<size_t>(i)];
    });
    pool.each(64, [&](int64_t item, int) {
      if (values[static_cast<size_t>(63 - item)] != round + 1) values[static_cast<size_t>(63 - item)] = -1000000;
    });
  }
  EXPECT_EQ(values, std::vector<int>(64, 2000));
}

}  // namespace takt::base
