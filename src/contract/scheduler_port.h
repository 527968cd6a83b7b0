// The scheduler as the worlds see it. Pure: time is an argument, and the same calls give the same answers (see tests/replay).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "contract/request.h"
#include "contract/step_plan.h"

namespace takt::contract {

struct Admission {
  bool is_accepted = false;
  base::ErrorCode refusal =
      base::ErrorCode::queue_full;  // when refused: exceed_context_size, queue_full, invalid_argument
  std::string reason;               // when refused: one sentence with the numbers
  base::Tokens output_tokens_max;   // when accepted: the limit that holds (the engine must be told this one)
};

// What is going on, as numbers. Read-only; cheap.
struct Bounds {
  uint32_t waiting_requests = 0;
  base::Tokens waiting_tokens;  // prompt tokens not evaluated yet, of waiting and running requests
  uint32_t prefilling_requests = 0;
  uint32_t decoding_requests = 0;
  uint32_t pages_used = 0;
  uint32_t pages_free = 0;
  uint64_t preemptions = 0;
  // From measured step times; zero until there are some.
  base::Micros gap_max;          // the longest gap a decoding request can see now
  base::Micros prompt_wait_max;  // the longest wait of the prompt now at the end of the queue
};

class SchedulerPort {
 public:
  virtual ~SchedulerPort() = default;
  virtual Admission submit(const Request& request, base::Micros now) = 0;
  // Unknown ids are ignored. During a step the request's pages are freed at absorb().
  virtual void cancel(RequestId id, base::Micros now) = 0;
  // Precondition: the previous plan with work was absorbed.
  virtual StepPlan next(base::Micros now) = 0;
  virtual void absorb(const StepResult& result, base::Micros now) = 0;
  virtual Bounds bounds() const = 0;
};

}  // namespace takt::contract
