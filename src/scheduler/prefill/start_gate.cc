#include "scheduler/prefill/start_gate.h"

#include <algorithm>

#include "scheduler/step_budget.h"

namespace takt::scheduler {

StartGate::StartGate(const Residents& residents, const contract::Capacity& capacity,
                     const contract::ServicePolicy& policy, const StepEstimator& estimator, base::Micros now)
    : capacity_(capacity), policy_(policy), estimator_(estimator), now_(now) {
  for (const Sequence* resident : residents.all()) count(*resident);
}

void StartGate::count(const Sequence& sequence) {
  const auto i = static_cast<size_t>(sequence.service_class);
  ++row_counts_[i];
  positions_[i] += sequence.length();
}

void StartGate::note_start(const Sequence& sequence) { count(sequence); }

bool StartGate::may_start(const Sequence& sequence) const {
  return has_row_for(sequence.service_class) && keeps_limit(sequence);
}

bool StartGate::has_row_for(contract::ServiceClass service_class) const {
  uint32_t taken = 0, kept_free = 0;
  for (size_t i = 0; i < contract::kServiceClassCount; ++i) {
    taken += row_counts_[i];
    const uint32_t reserved = policy_.classes[i].decode_rows_reserved;
    if (i != static_cast<size_t>(service_class)) kept_free += reserved - std::min(reserved, row_counts_[i]);
  }
  // Without reservations it is not for the gate to say: residents that rank behind may give way (Residents::try_start).
  return kept_free == 0 || taken + kept_free < capacity_.rows_max;
}

bool StartGate::keeps_limit(const Sequence& sequence) const {
  const auto& limit = policy_.of(sequence.service_class).itl_max;
  if (!limit || now_ - sequence.submitted > kGateUsMax || !estimator_.is_ready() ||
      capacity_.chunk_tokens_beside_decode > 0)
    return true;
  StepShape shape;
  for (size_t i = 0; i <= static_cast<size_t>(sequence.service_class); ++i) {
    shape.decode_rows += row_counts_[i];
    shape.decode_positions += positions_[i];
  }
  if (shape.decode_rows == 0) return true;
  shape.logits_rows = shape.decode_rows;
  shape.add_decode(sequence.length());
  shape.add_prefill(0, kChunkTokensMin, false);
  return estimator_.predict(shape) + estimator_.between() <= *limit;
}

}  // namespace takt::scheduler
