// The simulated reality: virtual time, generated or recorded traffic, and steps that take what a cost model says. It
// drives the scheduler through the same loop as the real one (worlds/loop.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "contract/engine_port.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "cost/step_cost.h"
#include "worlds/loop.h"
#include "worlds/sim/request_record.h"
#include "worlds/sim/sim_engine.h"
#include "worlds/sim/traffic.h"
#include "worlds/time_ledger.h"

namespace takt::worlds {

class SimWorld {
 public:
  // All are referred to and must outlive the world. `capacity` is the scheduler's. The cost model is the truth here,
  // and never the object the scheduler estimates with: a simulator must not mark its own homework.
  SimWorld(contract::SchedulerPort& scheduler, const contract::Capacity& capacity, const cost::StepCost& truth,
           Traffic& traffic);

  // Runs the loop to the end of the traffic. Errors: internal, when the scheduler made a plan that no engine could
  // execute.
  base::Status run();
  // Called at the end of each step, with its plan and the time it began; now() is its end. Before run().
  using StepListener = std::function<void(const contract::StepPlan& plan, base::Micros began)>;
  void listen(StepListener listener) { listener_ = std::move(listener); }
  // Divides every request's time into parts, as the real world does. Before run().
  void account() { ledger_.emplace(); }

  // In order of arrival.
  const std::vector<RequestRecord>& records() const { return records_; }
  // After run(): the records are the caller's, and the world of no more use.
  std::vector<RequestRecord> take_records() { return std::move(records_); }
  uint64_t steps() const { return steps_; }
  uint64_t preemptions() const { return preemptions_; }
  const SimEngine& engine() const { return engine_; }

  // What the loop asks of a world: see worlds/loop.h.
  NoLock lock() { return {}; }
  base::Micros now() const { return now_; }
  bool is_done() const { return !failure_.ok() || (live_count_ == 0 && !next_event()); }
  void take_events() { pass_until(now_); }
  void start(const contract::StepPlan& plan);
  contract::StepCompletion complete();
  void deliver(const contract::StepCompletion& completion);
  void wait_until(NoLock& lock, std::optional<base::Micros> wake_at);

 private:
  std::optional<base::Micros> next_event() const;
  void pass_until(base::Micros time);
  void arrive(const Arrival& arrival);
  RequestRecord* find_live(contract::RequestId id);
  void hang_up(contract::RequestId id);
  void end(RequestRecord& record, contract::FinishReason reason);

  contract::SchedulerPort& scheduler_;
  const cost::StepCost& truth_;
  Traffic& traffic_;
  SimEngine engine_;
  base::Micros now_;
  base::Status failure_;
  StepListener listener_;
  std::optional<TimeLedger> ledger_;

  std::vector<RequestRecord> records_;  // [id - 1]
  size_t live_count_ = 0;
  std::multimap<base::Micros, contract::RequestId> hang_ups_;
  std::vector<contract::RequestId> to_release_;  // cancelled while a step ran
  const contract::StepPlan* plan_ = nullptr;     // the running step's
  uint64_t steps_ = 0;
  uint64_t preemptions_ = 0;
  base::Micros step_started_;
  base::Micros step_ends_;
  base::Micros host_;  // after the step
};

}  // namespace takt::worlds
