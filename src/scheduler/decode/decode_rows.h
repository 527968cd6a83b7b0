// The decode half of a step: one row for every sequence that can take one.
#pragma once

#include "contract/step_plan.h"
#include "scheduler/pages/residents.h"

namespace takt::scheduler {

// Adds a decode row for every decoding resident, in rank order. A row is left out only when no page is left for its
// position and nobody ranks behind it whose pages it could take: then it stands still until pages come free.
void plan_decode_rows(Residents& residents, contract::StepPlan& plan);

}  // namespace takt::scheduler
