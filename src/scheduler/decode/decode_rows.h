// The decode half of a step: which sequences get their next token.
#pragma once

#include <vector>

#include "contract/service_policy.h"
#include "contract/step_plan.h"
#include "scheduler/pages/residents.h"
#include "scheduler/step_budget.h"

namespace takt::scheduler {

// The decoding residents, told apart: those that get a row in every step, and those that get one in what is left.
class DecodeTurns {
 public:
  // The classes up to `first_class` (the best one that has any work) are in every step. One of a class behind it is
  // when it has stood still for half of what its class may bear: its limit, or else a second (batch), ten (background).
  DecodeTurns(const Residents& residents, contract::ServiceClass first_class, const contract::ServicePolicy& policy,
              base::Micros now);

  // Adds a row for each of the first kind, in rank order, and lowers the step's time to the least of their limits. A row is
  // left out only when no page is left for its position and nobody ranks behind it whose pages it could take: then it
  // stands still until pages come free. Returns whether any of them has a limit.
  bool plan_required(Residents& residents, StepBudget& budget, contract::StepPlan& plan) const;
  // Adds rows of the second kind while the step stays within its time (one in any case, if it has no other work).
  void plan_optional(Residents& residents, StepBudget& budget, contract::StepPlan& plan) const;

 private:
  static bool plan_row(Sequence& sequence, Residents& residents, StepBudget& budget, contract::StepPlan& plan);

  const contract::ServicePolicy& policy_;
  std::vector<Sequence*> required_;  // in rank order
  std::vector<Sequence*> optional_;  // class by class, the longest waiting first
};

}  // namespace takt::scheduler
