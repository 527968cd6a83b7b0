// What a step costs, as a port: the simulated world takes its truth from one implementation.
#pragma once

#include "base/units.h"
#include "contract/step_plan.h"

namespace takt::cost {

class StepCost {
 public:
  virtual ~StepCost() = default;
  // From start() to completion. Precondition: plan.has_work(). At least 1 us.
  virtual base::Micros predict(const contract::StepPlan& plan) const = 0;
  // What the host needs between this step's end and the next one's begin: results taken, outputs handed out, the next
  // plan made. 0: not known, or part of predict().
  virtual base::Micros predict_host(const contract::StepPlan& plan) const {
    (void)plan;
    return base::Micros(0);
  }
};

}  // namespace takt::cost
