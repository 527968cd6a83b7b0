// The scheduler as the worlds see it. Pure: time is an argument, and the same calls give the same answers (see tests/replay).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "contract/request.h"
#include "contract/service_policy.h"
#include "contract/step_plan.h"
#include "contract/step_shape.h"

namespace takt::contract {

struct Admission {
  bool is_accepted = false;
  base::ErrorCode refusal =
      base::ErrorCode::queue_full;  // when refused: exceed_context_size, queue_full, limit_unreachable,
                                    // invalid_argument
  std::string reason;               // when refused: one sentence with the numbers
  base::Tokens output_tokens_max;   // when accepted: the limit that holds (the engine must be told this one)
  base::Micros due;                 // when accepted: its place in the order of requests, the earlier the better
  // From now, when steps have been measured: to the first token, and to the last one if the answer takes its whole limit.
  std::optional<base::Micros> predicted_ttft;
  std::optional<base::Micros> predicted_finish;
  base::Micros retry_after;  // when refused for being late or the queue being full: worth trying again then; 0: unknown
};

// What became of the promises to one service class, counted since the start.
struct ClassAttainment {
  uint64_t first_tokens = 0;
  uint64_t first_tokens_late = 0;  // after the class's ttft_max
  uint64_t gaps = 0;
  uint64_t gaps_late = 0;  // longer than the class's itl_max
};

// The last step that took longer than the bound that was printed for it.
struct BoundViolation {
  uint64_t step = 0;
  base::Micros at;
  base::Micros bound;
  base::Micros predicted;
  base::Micros actual;
  uint32_t prefill_tokens = 0;
  uint32_t decode_rows = 0;
};

// What is going on, as numbers. Read-only; cheap.
struct Bounds {
  uint32_t waiting_requests = 0;
  base::Tokens waiting_tokens;  // prompt tokens not evaluated yet, of waiting and running requests
  uint32_t prefilling_requests = 0;
  uint32_t decoding_requests = 0;
  uint32_t pages_used = 0;  // owned by requests
  uint32_t pages_free = 0;
  uint64_t preemptions = 0;
  // The prefix cache. Its pages without an owner count as free above: they are given up when they are needed.
  uint32_t pages_cached = 0;           // of pages_free
  uint64_t prefix_tokens_asked = 0;    // tokens of sequences that started and might have been cached
  uint64_t prefix_tokens_hit = 0;      // of these, taken from the cache
  uint64_t prefix_pages_evicted = 0;   // cached pages that were given up
  uint64_t preempted_tokens_lost = 0;  // evaluated again after preemptions: their price
  base::Micros preempted_time_lost;    // what that was expected to take
  // From measured step times; zero until there are some.
  base::Micros gap_max;          // the longest gap a decoding request can see now
  base::Micros prompt_wait_max;  // the longest wait of the prompt now at the end of the queue
  // The closed loop: what the last step with both phases was allowed to take, what it evaluated of prompts, and how much
  // longer than expected a step may come out (thousandths: 1100 is 10 %).
  base::Micros step_us_target;
  uint32_t chunk_tokens = 0;
  uint32_t margin_thousandths = 0;
  uint64_t bound_violations = 0;
  std::optional<BoundViolation> last_violation;
  std::array<ClassAttainment, kServiceClassCount> attainment;
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
  // What a step of this shape is expected to take, by those absorbed; zero while there were none.
  virtual base::Micros predict(const StepShape& shape) const = 0;
  // Whether the request that is to start next waits for KV pages, though a row is free for it.
  virtual bool is_short_of_pages() const = 0;
};

}  // namespace takt::contract
