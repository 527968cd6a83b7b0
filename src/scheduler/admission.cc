#include "scheduler/admission.h"

#include <algorithm>
#include <string>

namespace takt::scheduler {
namespace {

contract::Admission refuse(base::ErrorCode code, std::string reason) {
  contract::Admission admission;
  admission.refusal = code;
  admission.reason = std::move(reason);
  return admission;
}

}  // namespace

base::Status check(const contract::Capacity& capacity) {
  const auto invalid = [](const std::string& message) { return base::Error{base::ErrorCode::invalid_argument, message}; };
  // Positions and page counts are computed in 32 bits; a quarter of the range leaves room for every sum.
  constexpr uint32_t kLimit = 1u << 30;
  struct Field {
    const char* name;
    uint32_t value;
  };
  for (const Field& field : {Field{"page_count", capacity.page_count}, Field{"page_tokens", capacity.page_tokens},
                             Field{"context_tokens", capacity.context_tokens}, Field{"rows_max", capacity.rows_max},
                             Field{"step_tokens_max", capacity.step_tokens_max},
                             Field{"chunk_tokens_beside_decode", capacity.chunk_tokens_beside_decode}}) {
    if (field.value == 0 || field.value > kLimit) {
      return invalid(std::string(field.name) + " is " + std::to_string(field.value) + ", not between 1 and " +
                     std::to_string(kLimit));
    }
  }
  if (capacity.step_tokens_max < capacity.rows_max) {
    return invalid("step_tokens_max (" + std::to_string(capacity.step_tokens_max) + ") is less than rows_max (" +
                   std::to_string(capacity.rows_max) + "): every decoding request needs a token in a step");
  }
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
                  "the output limit is " + std::to_string(outputs_asked) + " tokens: it must be 0 or more");
  }
  const int64_t prompt_tokens = request.prompt_tokens().count();
  const int64_t outputs_left = context_tokens(capacity) - prompt_tokens;
  if (outputs_left < std::min<int64_t>(outputs_asked, 1)) {
    return refuse(base::ErrorCode::exceed_context_size,
                  "the prompt has " + std::to_string(prompt_tokens) + " tokens, the context " +
                      std::to_string(context_tokens(capacity)) + (outputs_left == 0 ? ": no position is left for an answer" : ""));
  }
  if (waiting_requests >= capacity.waiting_requests_max) {
    return refuse(base::ErrorCode::queue_full, std::to_string(waiting_requests) + " requests are waiting, the limit is " +
                                                   std::to_string(capacity.waiting_requests_max));
  }
  if (waiting_requests > 0 && waiting_tokens.count() + prompt_tokens > capacity.waiting_tokens_max.count()) {
    return refuse(base::ErrorCode::queue_full,
                  std::to_string(waiting_tokens.count()) + " prompt tokens are waiting and this prompt has " +
                      std::to_string(prompt_tokens) + ", the limit is " + std::to_string(capacity.waiting_tokens_max.count()));
  }
  contract::Admission admission;
  admission.is_accepted = true;
  admission.output_tokens_max = base::Tokens(std::min(outputs_asked, outputs_left));
  return admission;
}

}  // namespace takt::scheduler
