// Reads back what the answer to next() says about a step's work.
#pragma once

#include <string_view>

#include "base/error.h"
#include "contract/step_plan.h"

namespace takt::worlds {

// The inverse of to_text(StepPlan) (call_text.h) as far as the work goes: step, preemptions, chunks and rows (a row's
// draft tokens too). Page numbers are left out, words of other kinds are passed over. Errors: invalid_file, what was
// wrong in the answer.
base::Result<contract::StepPlan> parse_plan_work(std::string_view answer);

}  // namespace takt::worlds
