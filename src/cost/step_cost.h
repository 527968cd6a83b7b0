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
};

}  // namespace takt::cost
