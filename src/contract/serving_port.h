// The door of the loop for server/ and apps/: submit a request, get its output step by step, cancel it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "contract/engine_port.h"
#include "contract/generation.h"
#include "contract/request.h"
#include "contract/scheduler_port.h"
#include "contract/step_record.h"
#include "contract/time_parts.h"

namespace takt::contract {

// A request's life in microseconds of the world's clock; a phase not reached yet is nothing.
struct RequestTimes {
  base::Micros submitted;
  std::optional<base::Micros> first_scheduled;  // its first prefill chunk began
  std::optional<base::Micros> first_token;  // end of the step that yielded the first output token (or ended the prompt)
  std::optional<base::Micros> finished;
  base::Tokens prompt_tokens;
  base::Tokens prompt_tokens_cached;  // taken from a prefix cache, not evaluated
  base::Tokens output_tokens;
  // Foretold at submission, from then on: the first token, and the last one if the answer takes its whole limit. Nothing while
  // no step was measured.
  std::optional<base::Micros> predicted_ttft;
  std::optional<base::Micros> predicted_finish;
  // With an output: where the time since the output before went, or since submission. Sums to it exactly.
  TimeParts since_last;
};

// Receives one request's output. Called from the loop's thread, in order: must not block, throw or call back into the port.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // output.finish != none on the last call, exactly once per accepted request; nothing comes after it.
  virtual void on_output(const RequestOutput& output, const RequestTimes& times) = 0;
};

struct Submission {
  // request.id is overwritten by the port.
  Request request;
  GenerationSpec generation;
  std::shared_ptr<OutputSink> sink;
};

struct Acceptance {
  RequestId id;
  std::optional<base::Micros> predicted_ttft;  // as in RequestTimes
  std::optional<base::Micros> predicted_finish;
};

class ServingPort {
 public:
  virtual ~ServingPort() = default;
  // Thread-safe; does not block on a running step. Refusals that need the scheduler (queue full, context size) come back as an
  // error at once. Errors: exceed_context_size, queue_full, limit_unreachable, invalid_argument, shutting_down.
  virtual base::Result<Acceptance> submit(Submission submission) = 0;
  // Thread-safe. The row is free within one step; the sink gets a last output with FinishReason::cancelled.
  virtual void cancel(RequestId id) = 0;
  // A snapshot for health and metrics. Thread-safe.
  virtual Bounds bounds() const = 0;
  // The clock of RequestTimes. Thread-safe.
  virtual base::Micros now() const = 0;
  // Who is told of each step; null: nobody. Thread-safe; after it has returned the one before is not called any more.
  virtual void listen(StepListener* listener) = 0;
};

}  // namespace takt::contract
