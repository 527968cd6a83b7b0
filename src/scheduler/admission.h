// Whether a request may come in. No state: the numbers it depends on are arguments.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/request.h"
#include "contract/scheduler_port.h"
#include "contract/service_policy.h"

namespace takt::scheduler {

// Errors: invalid_argument, naming the field.
base::Status check(const contract::Capacity& capacity);
base::Status check(const contract::ServicePolicy& policy, const contract::Capacity& capacity);

// Positions that one request may use: the context, or the whole page pool where that is smaller.
int64_t context_tokens(const contract::Capacity& capacity);

// Accepts with the output limit that holds, min(asked for, what the context leaves), or refuses:
//   invalid_argument     no prompt, or a negative output limit
//   exceed_context_size  the prompt does not fit, or leaves no position for an output token that was asked for
//   queue_full           waiting_requests_max or waiting_tokens_max would be exceeded (but any prompt may wait alone)
contract::Admission decide_admission(const contract::Request& request, const contract::Capacity& capacity,
                                     uint32_t waiting_requests, base::Tokens waiting_tokens);

// With LateAdmission::refuse: turns the admission of a request that is predicted to miss its class's ttft_max into a refusal.
void refuse_if_late(const contract::ServicePolicy& policy, contract::ServiceClass service_class,
                    contract::Admission& admission);

}  // namespace takt::scheduler
