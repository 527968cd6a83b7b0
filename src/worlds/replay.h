// Feeds a recording to a bare scheduler: the proof that plans depend on nothing but the calls.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"

namespace takt::worlds {

struct ReplayReport {
  // Where an answer is not, byte for byte, what the recording says. Replay stops there: what follows has no meaning.
  struct Difference {
    uint64_t line = 0;  // counts from 1
    std::string recorded;
    std::string replayed;
  };
  uint64_t submits = 0;
  uint64_t cancels = 0;
  uint64_t steps = 0;
  uint64_t answers_equal = 0;
  std::optional<Difference> first_difference;
  bool is_identical() const { return !first_difference.has_value(); }
};

using SchedulerFactory = std::function<base::Result<std::unique_ptr<contract::SchedulerPort>>(
    const contract::Capacity&, const contract::ServicePolicy&)>;

// Reads a recording (worlds/call_text.h) to its end; a last line that was cut off by the end of the process is left
// out. Errors: invalid_file, naming the line, for a text that is not a recording, or whose results do not fit the plans
// that this scheduler has made so far; the factory's own.
base::Result<ReplayReport> replay(std::istream& in, const SchedulerFactory& make_scheduler);

}  // namespace takt::worlds
