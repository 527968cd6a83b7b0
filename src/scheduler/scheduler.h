// Decides what the next step evaluates. A pure function of what it was told: no clock, thread, file, random source or
// tensor.
//
// A request waits (PrefillQueue), then is resident (Residents: it owns pages), first prefilling, then decoding, until
// absorb() or cancel() ends it; a preemption takes it back to the queue with the tokens it has produced. Each step is
// planned from both halves: decode rows first, then prefill chunks in what is left (decode/decode_rows.h,
// prefill/prefill_chunks.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "scheduler/pages/residents.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/sequence.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

// Errors: invalid_argument for a capacity that cannot work, naming the field.
base::Result<std::unique_ptr<contract::SchedulerPort>> make_scheduler(const contract::Capacity& capacity);

class Scheduler final : public contract::SchedulerPort {
 public:
  // Precondition: check(capacity) is ok.
  explicit Scheduler(const contract::Capacity& capacity);

  contract::Admission submit(const contract::Request& request, base::Micros now) override;
  void cancel(contract::RequestId id, base::Micros now) override;
  contract::StepPlan next(base::Micros now) override;
  void absorb(const contract::StepResult& result, base::Micros now) override;
  contract::Bounds bounds() const override;

 private:
  // A row of the running step, in the order of its results.
  struct RowInStep {
    Sequence* sequence = nullptr;
    contract::Phase phase = contract::Phase::prefill;
    uint32_t tokens_evaluated = 0;  // when the row is done
    bool yields_tokens = false;     // all rows but the inner chunks of a prompt
  };

  void begin_step(contract::StepPlan& plan);
  void absorb_row(const RowInStep& row, const contract::RowResult& result);
  void end(Sequence& sequence);
  void estimate(contract::Bounds& bounds) const;

  contract::Capacity capacity_;
  PrefillQueue queue_;
  Residents residents_;
  std::map<contract::RequestId, Sequence> sequences_;  // all that are neither ended nor refused
  StepEstimator estimator_;
  std::vector<RowInStep> rows_in_step_;
  uint32_t prefill_tokens_in_step_ = 0;
  uint64_t step_ = 0;
  uint64_t arrivals_ = 0;
  uint64_t preemptions_ = 0;
  int64_t outputs_outstanding_ = 0;  // output tokens that accepted requests may still produce
};

}  // namespace takt::scheduler
