// What does not change while a model is served, for those who watch: the scheduler's limits, the machine's ceilings, the load.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/service_policy.h"

namespace takt::server {

struct MachineCeilings {
  double flops_per_s = 0;  // of the instructions that the model's products use
  double bytes_per_s = 0;  // read from memory
};

struct RowsSpeed {
  uint32_t rows = 0;
  double tokens_per_s = 0;  // of all rows together
};

struct LiveFacts {
  contract::Capacity capacity;
  contract::ServicePolicy policy;
  std::optional<MachineCeilings> machine;                        // nothing: not measured
  std::vector<RowsSpeed> rows_curve;                             // ascending rows; empty: not measured
  std::vector<std::pair<std::string, base::Micros>> load_times;  // by name, in order; they sum to the load
};

}  // namespace takt::server
