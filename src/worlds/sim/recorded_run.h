// A recording read as what happened: what arrived, what each step did and how long it took, what clients saw. Nothing
// is planned again.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/service_policy.h"
#include "contract/step_plan.h"
#include "cost/fitted/fit_cost.h"
#include "worlds/sim/request_record.h"
#include "worlds/sim/traffic.h"

namespace takt::worlds {

struct RecordedStep {
  contract::StepPlan plan;  // without page numbers
  contract::StepResult result;
  base::Micros planned;   // the time of next()
  base::Micros absorbed;  // the time of absorb()
  // From the step's end on the host's account until the next step, where that one followed without sleep.
  std::optional<base::Micros> host;
};

struct RecordedRun {
  contract::Capacity capacity;
  contract::ServicePolicy policy;
  std::vector<RequestRecord> records;  // in order of arrival; their arrivals have the real prompts
  std::vector<RecordedStep> steps;     // those that were absorbed
  uint64_t preemptions = 0;
};

// Reads it to its end; a cut last line is left out. The arrivals' answers are as long as what was produced, their times
// count from the world's origin. Errors: invalid_file, naming the line.
base::Result<RecordedRun> read_recorded_run(std::istream& in);

// The traffic of it: refused requests too; requests that had not ended stop where the recording does.
std::vector<Arrival> arrivals_of(const RecordedRun& run);
// Its steps as measurements.
std::vector<cost::StepSample> samples_of(const RecordedRun& run);

}  // namespace takt::worlds
