// What is lost when a resident gives up its pages: who gives way is whoever loses least.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "contract/service_policy.h"
#include "scheduler/pages/page_pool.h"
#include "scheduler/sequence.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

// Compared member by member; the least loses least.
struct PreemptionLoss {
  bool frees_nothing = false;  // others own all its pages too: it gives way last of all
  base::Micros late;           // how far evaluating it again goes beyond what its class's limit still allows
  // Background first: nobody waits for it.
  contract::ServiceClass service_class = contract::ServiceClass::interactive;
  base::Micros again;  // to evaluate again what its pages hold
  Rank rank;           // of equals the one that ranks last

  friend bool operator<(const PreemptionLoss& a, const PreemptionLoss& b);
};

// Nothing of what it gives up is counted on to stay in the prefix cache: somebody wants its pages. While no step was measured
// a token counts as a microsecond, so that the tokens decide.
PreemptionLoss loss_of(const Sequence& resident, const PagePool& pages, uint32_t page_tokens,
                       const contract::ServicePolicy& policy, const StepEstimator& estimator, base::Micros now);

// The expected time of evaluating positions [begin, end) again, in chunks of any size.
base::Micros evaluation_time(const StepEstimator& estimator, uint32_t begin, uint32_t end);

}  // namespace takt::scheduler
