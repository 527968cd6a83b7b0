#include "scheduler/decode/decode_rows.h"

#include <algorithm>
#include <utility>

namespace takt::scheduler {
namespace {

// How long a row may stand still for the sake of better classes.
base::Micros stand_still_max(contract::ServiceClass service_class, const contract::ServicePolicy& policy) {
  const auto& limit = policy.of(service_class).itl_max;
  if (limit) return *limit;
  return base::Micros(service_class == contract::ServiceClass::background ? 10'000'000 : 1'000'000);
}

}  // namespace

DecodeTurns::DecodeTurns(const Residents& residents, contract::ServiceClass first_class,
                         const contract::ServicePolicy& policy, base::Micros now)
    : policy_(policy) {
  for (Sequence* sequence : residents.all()) {
    if (sequence->stage != Stage::decoding) continue;
    const base::Micros still = now - sequence->last_token;
    const bool is_required = sequence->service_class <= first_class ||
                             still.count() >= stand_still_max(sequence->service_class, policy).count() / 2;
    (is_required ? required_ : optional_).push_back(sequence);
  }
  // The rank is the order already; what has waited equally long stays in it.
  std::stable_sort(optional_.begin(), optional_.end(), [](const Sequence* a, const Sequence* b) {
    return a->service_class != b->service_class ? a->service_class < b->service_class : a->last_token < b->last_token;
  });
}

bool DecodeTurns::plan_row(Sequence& sequence, Residents& residents, StepBudget& budget, contract::StepPlan& plan) {
  contract::DecodeRow row;
  row.request = sequence.id;
  row.position = sequence.length() - 1;
  const uint32_t tokens = row.position + 1;
  if (residents.grow(sequence, tokens, plan, row.pages_added) < tokens) return false;
  budget.add_decode(row.position);
  plan.decode_rows.push_back(std::move(row));
  return true;
}

bool DecodeTurns::plan_required(Residents& residents, StepBudget& budget, contract::StepPlan& plan) const {
  bool has_limit = false;
  for (Sequence* sequence : required_) {
    // One that ranks before it may have taken its pages meanwhile.
    if (sequence->stage != Stage::decoding || !plan_row(*sequence, residents, budget, plan)) continue;
    const auto& limit = policy_.of(sequence->service_class).itl_max;
    if (!limit) continue;
    budget.limit_to(*limit);
    has_limit = true;
  }
  return has_limit;
}

void DecodeTurns::plan_optional(Residents& residents, StepBudget& budget, contract::StepPlan& plan) const {
  for (Sequence* sequence : optional_) {
    if (sequence->stage != Stage::decoding) continue;
    if (plan.has_work() && !budget.fits_decode(sequence->length() - 1)) break;
    plan_row(*sequence, residents, budget, plan);
  }
}

}  // namespace takt::scheduler
