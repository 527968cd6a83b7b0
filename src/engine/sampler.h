// From logits to a token. Nothing here has a state: the same logits, history, settings and position give the same token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract/engine_port.h"
#include "contract/generation.h"
#include "contract/ids.h"

namespace takt::engine {

// A uniform number in [0, 1) with 53 bits, from a counter-based generator keyed by (seed, choice, position): the finaliser of
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) applied once a key word.
double uniform_draw(uint64_t seed, uint32_t choice_index, uint64_t position);

struct Sampled {
  contract::TokenId token = 0;
  bool is_valid = false;  // false: every token is banned
};

class Sampler {
 public:
  // Chooses the token for `position` (its index in the sequence). history: the sequence so far (prompt and output), for the
  // penalties. logits [vocabulary] are changed. allowed: bit per token, empty: all. Precondition: are_sound(logits).
  Sampled sample(const contract::Sampling& sampling, std::span<const contract::TokenId> history, uint64_t position,
                 std::span<float> logits, std::span<const uint64_t> allowed);

 private:
  struct Candidate {
    float logit;
    contract::TokenId id;
  };
  void apply_penalties(const contract::Sampling& sampling, std::span<const contract::TokenId> history,
                       std::span<float> logits);
  Sampled greedy(std::span<const float> logits) const;
  void select_top_k(std::span<const float> logits, uint32_t top_k);
  void select_within(std::span<const float> logits, float threshold);
  Sampled draw(const contract::Sampling& sampling, std::span<const float> logits, double uniform);

  std::vector<Candidate> candidates_;
  std::vector<contract::TokenId> window_;
};

// Whether every logit is a number below infinity: what a sound model gives. (Minus infinity means probability 0.)
bool are_sound(std::span<const float> logits);

// Natural log-probabilities of the raw distribution: of `token` (any value when negative) and of the `count` best.
contract::TokenOutput log_probabilities(std::span<const float> logits, contract::TokenId token, uint32_t count);

}  // namespace takt::engine
