#include "scheduler/admission.h"

#include <algorithm>
#include <string>
#include <utility>

namespace takt::scheduler {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

contract::Admission refuse(base::ErrorCode code, std::string reason) {
  contract::Admission admission;
  admission.refusal = code;
  admission.reason = std::move(reason);
  return admission;
}

}  // namespace

base::Status check(const contract::Capacity& capacity) {
  const auto invalid = [](std::string message) {
    return base::Error{base::ErrorCode::invalid_argument, std::move(message)};
  };
  // Positions and pages are counted in 32 bits: no sum of a few such values overflows. A page costs 8 bytes here.
  constexpr uint32_t kLimit = 1u << 24;
  struct Field {
    const char* name;
    uint32_t value;
  };
  for (const Field& field : {Field{"page_count", capacity.page_count}, Field{"page_tokens", capacity.page_tokens},
                             Field{"context_tokens", capacity.context_tokens}, Field{"rows_max", capacity.rows_max},
                             Field{"step_tokens_max", capacity.step_tokens_max}}) {
    if (field.value == 0 || field.value > kLimit) {
      return invalid(field.name + (" is " + number(field.value)) + ", not between 1 and " + number(kLimit));
    }
  }
  if (capacity.step_tokens_max < capacity.rows_max) {
    return invalid("step_tokens_max (" + number(capacity.step_tokens_max) + ") is less than rows_max (" +
                   number(capacity.rows_max) + "): every decoding request needs a token in a step");
  }
  return {};
}

base::Status check(const contract::ServicePolicy& policy, const contract::Capacity& capacity) {
  const auto invalid = [](std::string message) {
    return base::Error{base::ErrorCode::invalid_argument, std::move(message)};
  };
  // An hour: longer limits are none, and sums of a few stay far inside 64 bits.
  constexpr int64_t kLimitUs = 3'600'000'000;
  const auto is_limit = [](base::Micros value) { return value.count() > 0 && value.count() <= kLimitUs; };
  uint64_t rows_reserved = 0;
  for (contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassLimits& limits = policy.of(service_class);
    for (const auto& limit : {limits.ttft_max, limits.itl_max}) {
      if (limit && !is_limit(*limit))
        return invalid("a limit of class " + std::string(name(service_class)) + " is " + number(limit->count()) +
                       " us, not between 1 and " + number(kLimitUs));
    }
    rows_reserved += limits.decode_rows_reserved;
  }
  if (!is_limit(policy.step_us_max))
    return invalid("step_us_max is " + number(policy.step_us_max.count()) + ", not between 1 and " + number(kLimitUs));
  if (rows_reserved >= capacity.rows_max && rows_reserved > 0)
    return invalid(number(static_cast<int64_t>(rows_reserved)) + " decode rows are reserved, but only " +
                   number(capacity.rows_max) + " exist (rows_max): at least one must be left for everybody");
  return {};
}

int64_t context_tokens(const contract::Capacity& capacity) {
  return std::min<int64_t>(capacity.context_tokens, int64_t{capacity.page_count} * capacity.page_tokens);
}

contract::Admission decide_admission(const contract::Request& request, const contract::Capacity& capacity,
                                     uint32_t waiting_requests, base::Tokens waiting_tokens) {
  if (!request.prompt || request.prompt->empty()) {
    return refuse(base::ErrorCode::invalid_argument, "the prompt is empty: at least one token is needed");
  }
  const int64_t outputs_asked = request.output_tokens_max.count();
  if (outputs_asked < 0) {
    return refuse(base::ErrorCode::invalid_argument,
                  "the output limit is " + number(outputs_asked) + " tokens: it must be 0 or more");
  }
  const int64_t prompt_tokens = request.prompt_tokens().count();
  const int64_t outputs_left = context_tokens(capacity) - prompt_tokens;
  if (outputs_left < std::min<int64_t>(outputs_asked, 1)) {
    return refuse(base::ErrorCode::exceed_context_size,
                  "the prompt has " + number(prompt_tokens) + " tokens, the context " +
                      number(context_tokens(capacity)) +
                      (outputs_left == 0 ? ": no position is left for an answer" : ""));
  }
  if (waiting_requests >= capacity.waiting_requests_max) {
    return refuse(base::ErrorCode::queue_full, number(waiting_requests) + " requests are waiting, the limit is " +
                                                   number(capacity.waiting_requests_max));
  }
  if (waiting_requests > 0 && waiting_tokens.count() + prompt_tokens > capacity.waiting_tokens_max.count()) {
    return refuse(base::ErrorCode::queue_full,
                  number(waiting_tokens.count()) + " prompt tokens are waiting and this prompt has " +
                      number(prompt_tokens) + ", the limit is " + number(capacity.waiting_tokens_max.count()));
  }
  contract::Admission admission;
  admission.is_accepted = true;
  admission.output_tokens_max = base::Tokens(std::min(outputs_asked, outputs_left));
  return admission;
}

void refuse_if_late(const contract::ServicePolicy& policy, contract::ServiceClass service_class,
                    contract::Admission& admission) {
  const auto& limit = policy.of(service_class).ttft_max;
  if (policy.late_admission != contract::LateAdmission::refuse || !limit || !admission.predicted_ttft ||
      *admission.predicted_ttft <= *limit)
    return;
  admission.is_accepted = false;
  admission.refusal = base::ErrorCode::limit_unreachable;
  admission.retry_after = *admission.predicted_ttft - *limit;
  admission.reason = "the first token is expected after " + number(admission.predicted_ttft->count() / 1000) +
                     " ms, the limit of class " + std::string(name(service_class)) + " is " +
                     number(limit->count() / 1000) + " ms";
}

}  // namespace takt::scheduler
