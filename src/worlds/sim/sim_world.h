// The simulated reality: virtual time, generated or recorded traffic, and steps that take what a cost model says. It
// drives the scheduler through the same loop as the real one (worlds/loop.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "contract/engine_port.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "cost/step_cost.h"
#include "worlds/loop.h"
#include "worlds/sim/sim_engine.h"
#include "worlds/sim/traffic.h"

namespace takt::worlds {

// One request's life as its client saw it. Times are of the world's clock.
struct RequestRecord {
  contract::RequestId id;
  Arrival arrival;
  bool is_refused = false;
  contract::FinishReason finish = contract::FinishReason::none;  // none while it lives, or when refused
  std::optional<base::Micros> first_scheduled;
  std::optional<base::Micros> first_token;
  std::optional<base::Micros> finished;
  uint32_t prompt_tokens_cached = 0;  // taken from the prefix cache when it started first
  uint32_t output_tokens = 0;
  std::vector<base::Micros> token_gaps;  // between successive output tokens
  base::Micros last_token;
};

class SimWorld {
 public:
  // All are referred to and must outlive the world. `capacity` is the scheduler's. The cost model is the truth here,
  // and never the object the scheduler estimates with: a simulator must not mark its own homework.
  SimWorld(contract::SchedulerPort& scheduler, const contract::Capacity& capacity, const cost::StepCost& truth,
           Traffic& traffic);

  // Runs the loop to the end of the traffic. Errors: internal, when the scheduler made a plan that no engine could
  // execute.
  base::Status run();

  // In order of arrival.
  const std::vector<RequestRecord>& records() const { return records_; }
  uint64_t steps() const { return steps_; }
  uint64_t preemptions() const { return preemptions_; }
  const SimEngine& engine() const { return engine_; }

  // What the loop asks of a world: see worlds/loop.h.
  NoLock lock() { return {}; }
  base::Micros now() const { return now_; }
  bool is_done() const { return !failure_.ok() || (live_.empty() && !next_event()); }
  void take_events() { pass_until(now_); }
  void start(const contract::StepPlan& plan);
  contract::StepCompletion complete();
  void deliver(const contract::StepCompletion& completion);
  void wait_until(NoLock& lock, std::optional<base::Micros> wake_at);

 private:
  std::optional<base::Micros> next_event() const;
  void pass_until(base::Micros time);
  void arrive(const Arrival& arrival);
  void hang_up(contract::RequestId id);
  void end(RequestRecord& record, contract::FinishReason reason);

  contract::SchedulerPort& scheduler_;
  const cost::StepCost& truth_;
  Traffic& traffic_;
  SimEngine engine_;
  base::Micros now_;
  base::Status failure_;
  contract::StepPlan failed_plan_;

  std::vector<RequestRecord> records_;          // [id - 1]
  std::map<contract::RequestId, size_t> live_;  // index in records_
  std::multimap<base::Micros, contract::RequestId> hang_ups_;
  std::vector<contract::RequestId> to_release_;  // cancelled while a step ran
  bool is_step_running_ = false;
  uint64_t steps_ = 0;
  uint64_t preemptions_ = 0;
  base::Micros step_started_;
  base::Micros step_ends_;
};

}  // namespace takt::worlds
