#include "scheduler/ranking.h"

#include <algorithm>
#include <cassert>

namespace takt::scheduler {

base::Micros Ranking::due(const contract::Request& request, base::Micros now, base::Micros prefill_us) {
  Backlog& backlog = backlogs_[{request.tenant, request.service_class}];
  const base::Micros own_turn = std::max(now + backlog.prefill, backlog.due_max);
  ++backlog.requests;
  backlog.prefill += prefill_us;
  backlog.due_max = own_turn;
  return own_turn + class_allowance(request.service_class) + base::Micros(kStretch * prefill_us.count());
}

void Ranking::forget(uint64_t tenant, contract::ServiceClass service_class, base::Micros prefill_us) {
  const auto found = backlogs_.find({tenant, service_class});
  assert(found != backlogs_.end() && found->second.requests > 0);
  found->second.prefill -= prefill_us;
  if (--found->second.requests == 0) backlogs_.erase(found);
}

}  // namespace takt::scheduler
