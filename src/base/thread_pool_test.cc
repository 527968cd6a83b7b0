#include "base/thread_pool.h"

#include <gtest/gtest.h>

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

TEST(ThreadPool, ManyShortJobsAndParkedWorkers) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(3 * 16);
  for (int i = 0; i < 20000; ++i) pool.run([&](int thread) { sums[thread * 16] += thread + 1; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for the workers to park
  pool.run([&](int thread) { sums[thread * 16] += thread + 1; });
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), 20001 * 6);
}

}  // namespace takt::base
