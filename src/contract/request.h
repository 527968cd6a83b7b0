// A request as the scheduler sees it: token ids, a limit and a class. No text, no sampling, no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "contract/ids.h"

namespace takt::contract {

// The phase belongs to a row of a step, never to the step: chunked prefill has rows of both in one step.
enum class Phase : uint8_t { prefill, decode };

enum class ServiceClass : uint8_t { interactive, batch, background };
std::string_view name(ServiceClass service_class);

struct Request {
  RequestId id;
  std::shared_ptr<const std::vector<TokenId>> prompt;  // never empty
  // Output tokens at most; 0 evaluates the prompt only. Admission caps it so that prompt + output fits the context.
  base::Tokens output_tokens_max;
  ServiceClass service_class = ServiceClass::interactive;
  // Who asks (an API key): requests of different tenants share no cached pages, and get fair turns. 0: keys are not in use.
  uint64_t tenant = 0;
  // False: evaluates every prompt position, whatever is cached (prompt log-probabilities need that). It may still be
  // taken up in the cache, for others and for itself after a preemption.
  bool reads_prefix_cache = true;

  base::Tokens prompt_tokens() const { return base::Tokens(static_cast<int64_t>(prompt->size())); }
};

// Why a request produces no more tokens.
enum class FinishReason : uint8_t {
  none,       // it goes on
  stop,       // an end-of-generation token or a stop string
  length,     // output_tokens_max reached, or the context is full
  cancelled,  // by the client
  error,      // the engine could not go on (for example: not-a-number logits)
};
std::string_view name(FinishReason reason);

}  // namespace takt::contract
