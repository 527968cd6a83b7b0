// What the present load means for somebody who waits or decodes, by the estimator's word: for admission, for the rank of a
// request, and for the bounds that are printed. Reads everything, changes nothing.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/service_policy.h"
#include "scheduler/pages/residents.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/sequence.h"
#include "scheduler/step_budget.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

class Forecast {
 public:
  // `outputs_outstanding`: tokens that the accepted requests may still produce.
  Forecast(const contract::Capacity& capacity, const contract::ServicePolicy& policy, const StepEstimator& estimator,
           const PrefillQueue& queue, const Residents& residents, int64_t outputs_outstanding);

  // False while no step was measured: then all times are zero.
  bool is_ready() const { return estimator_.is_ready(); }
  // The prefill time of a prompt that has the machine to itself.
  base::Micros prefill_alone(uint32_t tokens) const;
  // Time to the first token of a sequence that comes now with this rank: what ranks before it is evaluated first, beside
  // the rows that decode now.
  base::Micros ttft(const Sequence& sequence) const;
  // From the first token on, time to the last one if it takes its whole limit, beside the rows that decode now.
  base::Micros decode(const Sequence& sequence) const;
  // The longest gap that a request which is in every step can see.
  base::Micros gap_max() const;
  // The longest wait of the prompt at the end of the queue.
  base::Micros prompt_wait_max() const;
  // The expected time to evaluate so many tokens of prompts that wait, beside the rows that decode now.
  base::Micros time_for(base::Tokens prompt_tokens) const;

 private:
  struct Step {
    uint32_t prefill_tokens = 0;
    base::Micros expected, high;
  };
  StepBudget budget_beside_decode() const;
  // A step with a chunk of a prompt of `prompt_tokens` tokens, from its middle.
  Step step(StepBudget budget, uint32_t prompt_tokens) const;
  base::Micros time_of(const Step& step, int64_t prompt_tokens) const;

  const contract::Capacity& capacity_;
  const contract::ServicePolicy& policy_;
  const StepEstimator& estimator_;
  const PrefillQueue& queue_;
  const Residents& residents_;
  int64_t outputs_outstanding_;
  std::vector<const Sequence*> decoding_;  // in every step
  std::optional<base::Micros> itl_max_;    // the least of their classes
  int64_t prompt_tokens_ = 0;              // not evaluated yet, of all
};

}  // namespace takt::scheduler
