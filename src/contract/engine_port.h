// The engine as worlds/real sees it: it executes step plans and owns all bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "contract/generation.h"
#include "contract/request.h"
#include "contract/step_plan.h"

namespace takt::contract {

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0;  // natural logarithm, of the raw distribution (before bias, penalties and temperature)
};

// One output token, or one prompt position when prompt log-probabilities were asked for.
struct TokenOutput {
  TokenId id = 0;                 // prompt positions: the token that really follows (-1 behind the last one)
  float logprob = 0;              // of `id`; only when log-probabilities were asked for
  std::vector<TokenLogprob> top;  // best first, ties by the lower id
};

// What one request got from one step.
struct RequestOutput {
  RequestId request;
  std::vector<TokenOutput> prompt_positions;  // only with prompt_top_logprobs
  std::vector<TokenOutput> tokens;            // the output tokens of this step
  std::string text;                           // released by the stop detector
  FinishReason finish = FinishReason::none;
  std::string error;  // with FinishReason::error: what happened
};

struct StepCompletion {
  StepResult result;
  std::vector<RequestOutput> outputs;  // only requests that have something to say
  base::Micros sampling;               // of result.duration: from logits to what came of them
};

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  // Takes over a request that the scheduler accepted. Errors: invalid_argument (a token id out of range).
  virtual base::Status admit(const Request& request, GenerationSpec spec) = 0;
  // Begins a step. Precondition: none is running. May return before the work is done (a device), or do it in complete().
  virtual void start(const StepPlan& plan) = 0;
  // Waits for the running step and returns what came of it.
  virtual StepCompletion complete() = 0;
  // The request ended or was cancelled: forget it. Not while a step runs. Unknown ids are ignored.
  virtual void release(RequestId id) = 0;
};

}  // namespace takt::contract
