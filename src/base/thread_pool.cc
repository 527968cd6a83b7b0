#include "base/thread_pool.h"

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace takt::base {
namespace {

// About 100 µs on a 4 GHz core (a pause is 40 to 140 cycles): longer than any serial section between two jobs of one
// step, short enough that an idle server uses no processor.
constexpr int kSpinsBeforePark = 4000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int thread_count) : thread_count_(thread_count < 1 ? 1 : thread_count) {
  try {
    for (int thread = 1; thread < thread_count_; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  is_stopping_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::claim_items(int thread) {
  const int64_t begin_ns = times_ != nullptr ? now_ns() : 0;
  for (int64_t item; (item = next_item_.fetch_add(1, std::memory_order_relaxed)) < count_;)
    job_(context_, item, thread);
  if (times_ != nullptr) times_->busy[static_cast<size_t>(thread)].ns += now_ns() - begin_ns;
}

void ThreadPool::fork(Job job, const void* context, int64_t count) {
  const int64_t begin_ns = times_ != nullptr ? now_ns() : 0;
  job_ = job;
  context_ = context;
  count_ = count;
  next_item_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1);  // open: what was written above is seen by whoever sees this
  generation_.notify_all();
  claim_items(0);
  // Close, then wait for those inside. A worker enters first and looks at the generation afterwards, both in the one total order of
  // the default memory order: so either it sees the job closed, or this thread sees it inside.
  generation_.fetch_add(1);
  for (int spins = 0; inside_.load() != 0; ++spins) {
    if (spins < kSpinsBeforePark)
      relax();
    else
      std::this_thread::yield();
  }
  if (times_ != nullptr) times_->fork_ns += now_ns() - begin_ns;
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  while (!is_stopping_.load()) {
    uint32_t now = generation_.load();
    for (int spins = 0; now == seen && spins < kSpinsBeforePark; ++spins) {
      relax();
      now = generation_.load(std::memory_order_relaxed);
    }
    if (now == seen) {
      generation_.wait(seen);
      continue;
    }
    seen = now;
    if ((now & 1) == 0) continue;  // closed already
    inside_.fetch_add(1);
    if (generation_.load() == now) claim_items(thread);
    inside_.fetch_sub(1);
  }
}

}  // namespace takt::base
