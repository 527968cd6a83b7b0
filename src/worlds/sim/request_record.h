// One request's life as its client saw it. Times are of the world's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "contract/request.h"
#include "contract/time_parts.h"
#include "worlds/sim/traffic.h"

namespace takt::worlds {

struct RequestRecord {
  contract::RequestId id;
  Arrival arrival;
  bool is_refused = false;
  contract::FinishReason finish = contract::FinishReason::none;  // none while it lives, or when refused
  std::optional<base::Micros> first_scheduled;
  std::optional<base::Micros> first_token;
  std::optional<base::Micros> finished;
  uint32_t prompt_tokens_cached = 0;  // taken from the prefix cache when it started first
  uint32_t output_tokens = 0;
  std::vector<base::Micros> token_gaps;  // between successive output tokens
  base::Micros last_token;
  // With SimWorld::account(): where the time up to the first token went, then each gap. And behind the last one, to the end.
  std::vector<contract::TimeParts> parts;

  // Output tokens came at `now`.
  void note_tokens(uint32_t count, base::Micros now) {
    for (uint32_t i = 0; i < count; ++i) {
      if (output_tokens > 0) token_gaps.push_back(now - last_token);
      if (output_tokens == 0) first_token = now;
      last_token = now;
      ++output_tokens;
    }
  }
};

}  // namespace takt::worlds
