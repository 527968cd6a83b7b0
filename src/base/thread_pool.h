// Fork-join over a fixed set of threads, made for thousands of very short jobs a second.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace takt::base {

// `run(f)` calls f(thread_index) once on each of `thread_count` threads, the caller being thread 0, and returns when all are
// done. Workers spin for a while after a job, then park: a decode step forks some hundred times a token, and a futex wake
// costs more than most of those jobs. One caller at a time; a job must not throw and must not call run().
class ThreadPool {
 public:
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return thread_count_; }

  template <class F>
  void run(F&& job) {
    run_erased([](void* context, int thread) { (*static_cast<std::remove_reference_t<F>*>(context))(thread); }, &job);
  }

  // Splits [0, count) into contiguous pieces, one a thread, and calls job(begin, end, thread) for the non-empty ones.
  template <class F>
  void split(int64_t count, F&& job) {
    const int64_t threads = thread_count_;
    run([&](int thread) {
      const int64_t begin = count * thread / threads, end = count * (thread + 1) / threads;
      if (begin < end) job(begin, end, thread);
    });
  }

  // Calls job(item, thread) for each item of [0, count), items claimed one by one: for items of unequal cost.
  template <class F>
  void each(int64_t count, F&& job) {
    std::atomic<int64_t> next{0};
    run([&](int thread) {
      for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;) job(item, thread);
    });
  }

 private:
  using Job = void (*)(void* context, int thread);
  void run_erased(Job job, void* context);
  void work(int thread);

  int thread_count_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int> pending_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace takt::base
