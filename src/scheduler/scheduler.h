// Decides what the next step evaluates. A pure function of what it was told: no clock, thread, file, random source or
// tensor.
//
// A request waits (PrefillQueue), then is resident (Residents: it owns pages), first prefilling, then decoding, until
// absorb() or cancel() ends it; a preemption takes it back to the queue with the tokens it has produced. Each step is
// planned from both halves, class by class: decode rows first, then prefill chunks in what the limits of those rows leave of
// the step's time (decode/decode_rows.h, prefill/prefill_chunks.h, step_budget.h, step_estimator.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "contract/service_policy.h"
#include "scheduler/forecast.h"
#include "scheduler/pages/residents.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/ranking.h"
#include "scheduler/sequence.h"
#include "scheduler/step_budget.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

// Errors: invalid_argument for a capacity or a policy that cannot work, naming the field.
base::Result<std::unique_ptr<contract::SchedulerPort>> make_scheduler(const contract::Capacity& capacity,
                                                                      const contract::ServicePolicy& policy = {});

class Scheduler final : public contract::SchedulerPort {
 public:
  // Precondition: check(capacity, policy) is ok.
  Scheduler(const contract::Capacity& capacity, const contract::ServicePolicy& policy);

  contract::Admission submit(const contract::Request& request, base::Micros now) override;
  void cancel(contract::RequestId id, base::Micros now) override;
  contract::StepPlan next(base::Micros now) override;
  void absorb(const contract::StepResult& result, base::Micros now) override;
  contract::Bounds bounds() const override;
  base::Micros predict(const StepShape& shape) const override { return estimator_.predict(shape); }
  bool is_short_of_pages() const override;

 private:
  // A row of the running step, in the order of its results.
  struct RowInStep {
    Sequence* sequence = nullptr;
    contract::Phase phase = contract::Phase::prefill;
    uint32_t tokens_evaluated = 0;  // when the row is done
    bool yields_tokens = false;     // all rows but the inner chunks of a prompt
  };

  std::optional<contract::ServiceClass> first_class_with_work() const;
  StepBudget plan_step(contract::ServiceClass first_class, base::Micros now, contract::StepPlan& plan);
  void limit_step(contract::ServiceClass first_class, bool has_limit, StepBudget& budget) const;
  Forecast forecast() const;
  void leave_backlog(Sequence& sequence);
  void begin_step(contract::StepPlan& plan, const StepBudget& budget);
  void absorb_row(const RowInStep& row, const contract::RowResult& result, base::Micros now);
  void note_token(Sequence& sequence, base::Micros now);
  void note_step(const contract::StepResult& result, base::Micros now);
  // is_kept: what it has evaluated may serve others.
  void end(Sequence& sequence, bool is_kept);

  contract::Capacity capacity_;
  contract::ServicePolicy policy_;
  StepEstimator estimator_;
  PrefillQueue queue_;
  Residents residents_;
  Ranking ranking_;
  std::map<contract::RequestId, Sequence> sequences_;  // all that are neither ended nor refused
  std::vector<RowInStep> rows_in_step_;
  StepShape shape_in_step_;
  base::Micros bound_in_step_;            // what the running step was said to take at most; zero: nothing was said
  std::optional<base::Micros> absorbed_;  // when the last step ended, if the next one follows at once
  contract::Bounds kept_;                 // the members of Bounds that count and remember
  uint64_t step_ = 0;
  uint64_t arrivals_ = 0;
  int64_t outputs_outstanding_ = 0;  // output tokens that accepted requests may still produce
};

}  // namespace takt::scheduler
