// Stands between a world and a scheduler and checks each answer against what can be known from outside: order,
// fairness, progress. What a plan may ask of an engine is checked by worlds/sim/sim_engine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "contract/model_shape.h"
#include "contract/scheduler_port.h"

namespace takt::tests {

class WatchingScheduler final : public contract::SchedulerPort {
 public:
  WatchingScheduler(contract::SchedulerPort& inner, const contract::Capacity& capacity);

  contract::Admission submit(const contract::Request& request, base::Micros now) override;
  void cancel(contract::RequestId id, base::Micros now) override;
  contract::StepPlan next(base::Micros now) override;
  void absorb(const contract::StepResult& result, base::Micros now) override;
  contract::Bounds bounds() const override { return inner_.bounds(); }
  base::Micros predict(const contract::StepShape& shape) const override { return inner_.predict(shape); }
  bool is_short_of_pages() const override { return inner_.is_short_of_pages(); }

  // What was wrong, at most a few sentences; empty when nothing was.
  const std::string& faults() const { return faults_; }
  size_t live_count() const { return live_.size(); }

 private:
  struct Live {
    base::Micros due;
    uint64_t arrival = 0;
    contract::ServiceClass service_class = contract::ServiceClass::interactive;
    bool is_resident = false;
    bool is_decoding = false;
    bool is_in_step = false;
    bool is_cancelled = false;
    bool ranks_before(const Live& other) const { return due != other.due ? due < other.due : arrival < other.arrival; }
  };

  void check_order(const contract::StepPlan& plan);
  void check_progress(const contract::StepPlan& plan, base::Micros now);
  void check_counts();
  void fault(const std::string& sentence);

  contract::SchedulerPort& inner_;
  contract::Capacity capacity_;
  std::map<contract::RequestId, Live> live_;
  uint64_t arrivals_ = 0;
  uint64_t step_ = 0;
  std::string faults_;
};

}  // namespace takt::tests
