// Whether a waiting request may take a row, whatever pages there are: rows reserved for other classes, and the promises that
// one more decoding row would break.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/service_policy.h"
#include "scheduler/pages/residents.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

// Longer than a burst of short answers takes to end; shorter than people wait for a first word.
inline constexpr base::Micros kGateUsMax{5'000'000};

class StartGate {
 public:
  StartGate(const Residents& residents, const contract::Capacity& capacity, const contract::ServicePolicy& policy,
            const StepEstimator& estimator, base::Micros now);

  // False while the rows left are reserved for other classes; or when a step in which everybody of this class and of better
  // ones decodes, with one prompt's smallest chunk beside them, is expected to take longer than this class has promised, for
  // kGateUsMax at most: an estimate that is too high is corrected only by steps that try it, and nobody waits for ever.
  bool may_start(const Sequence& sequence) const;
  // It has: counted from now on.
  void note_start(const Sequence& sequence);

 private:
  bool has_row_for(contract::ServiceClass service_class) const;
  bool keeps_limit(const Sequence& sequence) const;
  void count(const Sequence& sequence);

  const contract::Capacity& capacity_;
  const contract::ServicePolicy& policy_;
  const StepEstimator& estimator_;
  base::Micros now_;
  std::array<uint32_t, contract::kServiceClassCount> row_counts_{};
  std::array<uint64_t, contract::kServiceClassCount> positions_{};  // that their rows attend to, once they decode
};

}  // namespace takt::scheduler
