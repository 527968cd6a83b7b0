#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace takt::base {
namespace {

// About 100 µs on a 4 GHz core (a pause is 40 to 140 cycles): longer than any serial section between two jobs of one
// step, short enough that an idle server uses no processor.
constexpr int kSpinsBeforePark = 4000;

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int thread_count) : thread_count_(thread_count < 1 ? 1 : thread_count) {
  for (int thread = 1; thread < thread_count_; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::run_erased(Job job, void* context) {
  if (thread_count_ == 1) return job(context, 0);
  job_ = job;
  context_ = context;
  pending_.store(thread_count_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  job(context, 0);
  // The other threads finish within a job's length; yield when they lost their core to somebody else.
  for (int spins = 0; pending_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpinsBeforePark) relax();
    else std::this_thread::yield();
  }
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  for (;;) {
    uint32_t now = generation_.load(std::memory_order_acquire);
    for (int spins = 0; now == seen && spins < kSpinsBeforePark; ++spins) {
      relax();
      now = generation_.load(std::memory_order_acquire);
    }
    if (now == seen) {
      generation_.wait(seen, std::memory_order_acquire);
      continue;
    }
    seen = now;
    if (stopping_.load()) return;
    job_(context_, thread);
    pending_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace takt::base
