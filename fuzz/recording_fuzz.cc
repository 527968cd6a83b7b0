// Any text as a recording: an error or a report, never a crash; what it replays is checked by the scheduler's own asserts.
#include <cstdint>
#include <sstream>
#include <string>

#include "cost/fitted/fit_cost.h"
#include "scheduler/scheduler.h"
#include "worlds/replay.h"
#include "worlds/sim/recorded_run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace takt;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto report = worlds::replay(in, [](const contract::Capacity& capacity, const contract::ServicePolicy& policy) {
    // Memory is the operator's choice; here it would only slow the search down.
    if (capacity.page_count <= 4096) return scheduler::make_scheduler(capacity, policy);
    return base::Result<std::unique_ptr<contract::SchedulerPort>>(
        base::Error{base::ErrorCode::invalid_argument, "too many pages for a fuzz run"});
  });
  (void)report;
  // What it says happened, read without a scheduler, and the costs fitted to that.
  in.clear();
  in.seekg(0);
  const auto run = worlds::read_recorded_run(in);
  if (run.ok()) (void)cost::fit_cost(worlds::samples_of(*run));
  return 0;
}
