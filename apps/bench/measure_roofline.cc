// The measuring half of roofline.h.
#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/thread_pool.h"
#include "bench/ceiling_loops.h"
#include "bench/roofline.h"
#include "model/weights/weights.h"

namespace takt::apps {
namespace {

// A run must be long beside a thread's wake-up (50 us) and short beside the pauses that a busy neighbour makes.
constexpr double kRunSeconds = 0.008;
constexpr int kRuns = 20;
// More than any cache that a core shares: reading it again finds none of it. A machine with a larger cache gets four times that.
constexpr int64_t kMemoryBytes = int64_t{256} << 20;

// A part of the last-level cache, since others use it too.
constexpr int64_t kCacheShare = 4;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double best_rate(const CeilingLoop& loop, base::ThreadPool& pool) {
  int64_t iterations = 1 << 16;
  const auto run = [&] { pool.each(pool.thread_count(), [&](int64_t, int) { loop.run(iterations); }); };
  run();  // wakes the threads and the clock
  const double once = std::max(1e-7, seconds_of(run));
  iterations = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(iterations) * kRunSeconds / once));
  double best = 1e30;
  for (int i = 0; i < kRuns; ++i) best = std::min(best, seconds_of(run));
  // An item may have been taken twice by one thread while the other slept: the work is the same, the time longer.
  return static_cast<double>(iterations * loop.operations_per_iteration) * pool.thread_count() / best;
}

double best_read_rate(const model::Buffer& buffer, int64_t bytes, base::ThreadPool& pool) {
  const int64_t lines = bytes / 64;
  // A buffer that a cache holds is read too quickly to be timed once.
  const auto passes = std::max<int64_t>(1, (int64_t{64} << 20) / bytes);
  const auto run = [&] {
    pool.split(lines, [&](int64_t begin, int64_t end, int) {
      for (int64_t pass = 0; pass < passes; ++pass) read_lines(buffer.data() + begin * 64, end - begin);
    });
  };
  run();
  double best = 1e30;
  for (int i = 0; i < kRuns; ++i) best = std::min(best, seconds_of(run));
  return static_cast<double>(lines * 64 * passes) / best;
}

ThreadCeilings measure_ceilings(int threads, const Machine& machine, const model::Buffer& buffer,
                                int64_t memory_bytes) {
  base::ThreadPool pool(threads);
  ThreadCeilings out{threads, {}};
  for (const CeilingLoop& loop : ceiling_loops())
    if (loop.is_supported()) out.rates[std::string(loop.name)] = best_rate(loop, pool);
  out.rates[kReadMemory] = best_read_rate(buffer, memory_bytes, pool);
  const int64_t cache_bytes = std::min(machine.last_cache_bytes() / kCacheShare, memory_bytes);
  if (cache_bytes >= int64_t{64} * threads) out.rates[kReadCache] = best_read_rate(buffer, cache_bytes, pool);
  return out;
}

std::string utc_now() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

}  // namespace

base::Result<Roofline> measure_roofline(const std::function<void(const std::string&)>& on_progress) {
  Roofline roofline;
  roofline.machine = detect_machine();
  roofline.measured_at = utc_now();
  const int64_t memory_bytes = std::max(kMemoryBytes, roofline.machine.last_cache_bytes() * 4);
  auto buffer = model::Buffer::allocate(static_cast<size_t>(memory_bytes) + (1 << 16));  // the loop asks ahead
  if (!buffer) return buffer.error();
  std::fill_n(buffer->data(), buffer->size(), std::byte{1});  // untouched pages would all be one page of zeros
  for (int threads : thread_counts_up_to(roofline.machine.threads)) {
    if (on_progress) on_progress(std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
    roofline.ceilings.push_back(measure_ceilings(threads, roofline.machine, *buffer, memory_bytes));
  }
  return roofline;
}

}  // namespace takt::apps
