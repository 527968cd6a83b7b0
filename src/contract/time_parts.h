// Where a stretch of one request's time went: named parts in whole microseconds that sum to it exactly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "contract/ids.h"

namespace takt::contract {

enum class TimePart : uint8_t {
  own_compute,    // its own rows: what its steps would have taken without the others
  other_decode,   // what other requests' decode rows added to its steps
  other_prefill,  // what other requests' prompt chunks added; TimeParts::causes says whose
  queue,          // not in a step: before its first one, or while others had their turn
  kv_wait,        // the same, while KV pages were short
  preemption,     // its pages were taken away and it waits to begin again
  recompute,      // its own rows that evaluate again what was lost so
  load,           // the model was being loaded
  sampling,       // from logits to tokens: sampler, grammar, stop strings, of all rows of its steps
  host,           // between steps and around them: planning, delivery, reading the request
  network,        // produced, but not handed to the network yet
};
inline constexpr size_t kTimePartCount = 11;
std::string_view name(TimePart part);

struct TimeParts {
  // A request whose prompt chunks made a step longer. The causes' micros sum to other_prefill.
  struct Cause {
    RequestId request;
    base::Micros micros;
    uint32_t tokens = 0;  // of those chunks
    bool operator==(const Cause&) const = default;
  };
  std::array<base::Micros, kTimePartCount> micros{};
  std::vector<Cause> causes;  // each request once

  base::Micros& operator[](TimePart part) { return micros[static_cast<size_t>(part)]; }
  base::Micros operator[](TimePart part) const { return micros[static_cast<size_t>(part)]; }
  base::Micros total() const;
  void add(const TimeParts& other);
  void add_cause(RequestId request, base::Micros micros, uint32_t tokens);
  // Takes away `micros` of what came first: time between steps before time in them. Precondition: micros <= total().
  void take_from_front(base::Micros micros);
};

// Divides `total` in proportion to the weights, each share rounded down and the rest given to the greatest, so that the shares sum
// to it. All weights zero: everything to the first. Precondition: weights are not empty and not negative.
std::vector<int64_t> divide_exactly(int64_t total, const std::vector<int64_t>& weights);

}  // namespace takt::contract
