// Fork-join over a fixed set of threads, made for thousands of very short jobs a second.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace takt::base {

// What forks cost, for who wants to know: per thread a place of its own in the cache.
struct ForkTimes {
  struct alignas(64) Busy {
    int64_t ns = 0;
  };
  int64_t fork_ns = 0;     // the caller's time in forks, from opening to the last thread's return
  std::vector<Busy> busy;  // [thread_count]: time inside jobs
};

// A job is a number of items; the caller and the workers claim them one by one. The caller waits only for workers that are inside
// the job: one that the system keeps off its core (a busy machine, a parked thread that wakes late) delays nobody, the others
// take its items. Workers spin for a while after a job, then park: a decode step forks some hundred times a token, and a futex
// wake costs more than most of those jobs. One caller at a time; a job must not throw and must not fork again.
class ThreadPool {
 public:
  // May throw std::system_error when the system refuses a thread.
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return thread_count_; }

  // Adds up the times of every fork from now on; null: none are taken (the default, and what it costs is one comparison a fork and
  // thread). `times` has a place for every thread. Not while a job runs.
  void watch(ForkTimes* times) { times_ = times; }

  // Calls job(item, thread), which must be const (no mutable lambda), for each item of [0, count). `thread` in [0, thread_count) is not shared by two running calls.
  template <class F>
  void each(int64_t count, F&& job) {
    if (thread_count_ == 1 || count <= 1) {
      for (int64_t item = 0; item < count; ++item) job(item, 0);
      return;
    }
    fork([](const void* context, int64_t item,
            int thread) { (*static_cast<const std::remove_reference_t<F>*>(context))(item, thread); },
         &job, count);
  }

  // Splits [0, count) into contiguous pieces of nearly equal length, as many as threads: each is one stream through memory. Calls
  // job(begin, end, thread).
  template <class F>
  void split(int64_t count, F&& job) {
    const int64_t pieces = std::min<int64_t>(count, thread_count_);
    each(pieces, [&](int64_t piece, int thread) { job(count * piece / pieces, count * (piece + 1) / pieces, thread); });
  }

 private:
  using Job = void (*)(const void* context, int64_t item, int thread);
  void fork(Job job, const void* context, int64_t count);
  void claim_items(int thread);
  void work(int thread);
  void stop();

  int thread_count_;
  Job job_ = nullptr;
  const void* context_ = nullptr;
  int64_t count_ = 0;
  ForkTimes* times_ = nullptr;
  alignas(64) std::atomic<uint32_t> generation_{0};  // odd: a job is open for workers
  alignas(64) std::atomic<int64_t> next_item_{0};
  alignas(64) std::atomic<int> inside_{0};  // workers between entering and leaving a job
  std::atomic<bool> is_stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace takt::base
