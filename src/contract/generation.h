// How a request's tokens are chosen and when they end. The engine reads this; the scheduler never sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "contract/ids.h"
#include "contract/ports.h"

namespace takt::contract {

// Applied in this order: logit bias, penalties, top_k, top_p, min_p, temperature, draw. temperature 0 is greedy: the highest
// logit after bias and penalties; ties go to the lower id.
struct Sampling {
  float temperature = 0.8f;        // >= 0
  uint32_t top_k = 40;             // 0: off
  float top_p = 0.95f;             // (0, 1]; 1: off
  float min_p = 0.05f;             // [0, 1]; 0: off
  float repeat_penalty = 1.0f;     // > 0; 1: off
  uint32_t repeat_last_n = 64;     // window of all three penalties, prompt tokens included; 0: off
  float frequency_penalty = 0.0f;  // [-2, 2]
  float presence_penalty = 0.0f;   // [-2, 2]
  uint64_t seed = 0;               // the draw is keyed by (seed, choice index, position): no state, no order
  uint32_t choice_index = 0;
  std::vector<std::pair<TokenId, float>> logit_bias;  // ids in range; -infinity bans
};

struct GenerationSpec {
  Sampling sampling;
  // Log-probabilities (natural, of the raw distribution) of the chosen token and of this many best ids, per output token.
  std::optional<uint32_t> top_logprobs;
  // The same for every prompt position: what the model expected after reading ids[0..i].
  std::optional<uint32_t> prompt_top_logprobs;
  // Teacher forcing: output token i is forced_tokens[i] whatever the logits say (for `takt score --mode decode`).
  std::vector<TokenId> forced_tokens;
  // Owned by the request from here on; called from the engine only, in output order. May be null: then only the
  // length ends the request.
  std::unique_ptr<StopDetector> stop_detector;
  std::unique_ptr<TokenConstraint> constraint;  // may be null
};

}  // namespace takt::contract
