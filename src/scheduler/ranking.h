// Where a request stands in the one order of requests: fixed when it arrives.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/units.h"
#include "contract/request.h"
#include "contract/service_policy.h"

namespace takt::scheduler {

// How much later than an interactive request one of this class may be served: a batch request goes behind every
// interactive request that arrives within the next 30 s, but before those after. 30 s is the TTFT limit of the
// published Mooncake runs, for patient traffic; 300 s because a client that waits longer has usually hung up.
constexpr base::Micros class_allowance(contract::ServiceClass service_class) {
  switch (service_class) {
    case contract::ServiceClass::interactive: return base::Micros(0);
    case contract::ServiceClass::batch: return base::Micros(30'000'000);
    case contract::ServiceClass::background: return base::Micros(300'000'000);
  }
  return base::Micros(0);
}

// A long prompt is passed by shorter ones that arrive within this many times its own prefill time: they are delayed by
// nothing, and it takes at most about 1 + kStretch times as long as alone at full load. 1 already lets a burst of short prompts
// pass a long one that came just before; 2 does so too when the burst goes on for as long as the long one takes.
inline constexpr int64_t kStretch = 2;

// due = arrival + allowance of the class + kStretch × its prefill time + the prefill time of what its tenant has waiting.
//
// The last term is fairness between API keys: a tenant's requests are ranked as if they had come one by one, each when the
// one before was served at full speed. Two tenants that flood the queue are therefore served in turns, in proportion to
// tokens, and one that sends a single request finds no other's backlog before it, only what was due by now.
class Ranking {
 public:
  // `prefill_us`: the predicted prefill time of the request alone.
  base::Micros due(const contract::Request& request, base::Micros now, base::Micros prefill_us);
  // The request waits no more: it started, ended, or was cancelled. Once for each due().
  void forget(uint64_t tenant, contract::ServiceClass service_class, base::Micros prefill_us);

 private:
  struct Backlog {
    uint32_t requests = 0;
    base::Micros prefill;  // of all that wait
    base::Micros due_max;  // of those: a tenant's own requests keep their order of arrival, lengths apart
  };
  std::map<std::pair<uint64_t, contract::ServiceClass>, Backlog> backlogs_;  // only of tenants that have one
};

}  // namespace takt::scheduler
