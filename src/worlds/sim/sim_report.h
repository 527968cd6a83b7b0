// What a simulated run came to, as numbers and as text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "contract/request.h"
#include "contract/service_policy.h"
#include "worlds/sim/request_record.h"

namespace takt::worlds {

// Of one kind of duration, by nearest rank; all zero without samples.
struct Percentiles {
  uint64_t count = 0;
  base::Micros mean, p50, p90, p99, max;
};
Percentiles percentiles(std::vector<base::Micros> samples);

struct ClassReport {
  contract::ServiceClass service_class = contract::ServiceClass::interactive;
  uint64_t requests = 0;
  uint64_t refused = 0;
  uint64_t cancelled = 0;
  Percentiles ttft;   // arrival to first output token
  Percentiles itl;    // between successive output tokens: one sample a token
  Percentiles queue;  // arrival to the first prefill chunk
  contract::ClassLimits limits;
  uint64_t within = 0;  // answered to the end, the first token and every gap inside the limits
};

struct SimReport {
  std::array<ClassReport, 3> classes;  // in the order of ServiceClass
  base::Micros duration;               // from the first arrival to the last end
  uint64_t prompt_tokens = 0;          // of requests whose prompt was evaluated
  uint64_t output_tokens = 0;
  uint64_t steps = 0;
  uint64_t preemptions = 0;
  // What those cost, where the scheduler was asked: contract::Bounds.
  uint64_t preempted_tokens_lost = 0;
  base::Micros preempted_time_lost;
};

// Of a simulated or a recorded run.
SimReport make_report(const std::vector<RequestRecord>& records, uint64_t steps, uint64_t preemptions,
                      const contract::ServicePolicy& policy = {});

// A table for people; classes without requests are left out.
std::string to_table(const SimReport& report);
// One JSON object; times in microseconds. `recorded`, where there is one, is a report of its own within it.
std::string to_json(const SimReport& report, uint64_t seed, const SimReport* recorded = nullptr);
// Beside each other: what was recorded, what was simulated, the error.
std::string to_comparison(const SimReport& recorded, const SimReport& simulated);

}  // namespace takt::worlds
