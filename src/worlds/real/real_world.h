// The real reality: the system's clock, other threads that submit and cancel, an engine that computes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "contract/engine_port.h"
#include "contract/scheduler_port.h"
#include "contract/serving_port.h"
#include "worlds/time_ledger.h"

namespace takt::worlds {

class RealWorld final : public contract::ServingPort {
 public:
  // Both must outlive the world. `scheduler` is the object given to run_loop().
  RealWorld(contract::SchedulerPort& scheduler, contract::EnginePort& engine);

  // Runs the loop on the calling thread until stop(), or until drain() and the last request's end.
  void run();
  // No new requests (shutting_down); those accepted go on to their end. Any thread.
  void drain();
  // As drain(), and cancels all that is left. Any thread.
  void stop();

  // ServingPort.
  base::Result<contract::Acceptance> submit(contract::Submission submission) override;
  void cancel(contract::RequestId id) override;
  contract::Bounds bounds() const override;
  base::Micros now() const override;
  void listen(contract::StepListener* listener) override;

  // What run_loop() asks of a world (see worlds/loop.h).
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  bool is_done() const { return is_draining_ && entries_.empty(); }
  void take_events();
  void start(const contract::StepPlan& plan);
  contract::StepCompletion complete();
  void deliver(contract::StepCompletion& completion);
  void wait_until(std::unique_lock<std::mutex>& lock, std::optional<base::Micros> time);

 private:
  struct Entry {
    std::shared_ptr<contract::OutputSink> sink;
    contract::RequestTimes times;
    bool is_cancelled = false;
  };
  void note_output(Entry& entry, const contract::RequestOutput& output, base::Micros now);
  void cancel_locked(contract::RequestId id);

  contract::SchedulerPort& scheduler_;
  contract::EnginePort& engine_;
  const std::chrono::steady_clock::time_point origin_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::condition_variable event_;
  // Guarded by mutex_.
  std::map<contract::RequestId, Entry> entries_;
  TimeLedger ledger_;
  contract::StepListener* listener_ = nullptr;
  std::vector<contract::RequestId> cancelled_;  // not told to their sinks yet
  uint64_t next_id_ = 1;
  bool has_event_ = false;
  bool is_draining_ = false;
};

}  // namespace takt::worlds
