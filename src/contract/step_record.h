// One step as it was, for whoever watches the loop.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "contract/ids.h"

namespace takt::contract {

struct StepRecord {
  struct Chunk {
    RequestId request;
    uint32_t begin = 0;
    uint32_t tokens = 0;
  };
  uint64_t step = 0;
  base::Micros begin, end;
  base::Micros expected;  // by what was measured before; zero: nothing was
  base::Micros sampling;  // of it, from logits to tokens
  std::vector<Chunk> prefill_chunks;
  std::vector<RequestId> decode_rows;
  uint64_t decode_positions = 0;  // over all decode rows, the positions each attends to
  std::vector<RequestId> preempted;
  uint32_t output_tokens = 0;
  bool is_short_of_pages = false;  // the request that is to start next waits for KV pages
};

// Called on the loop's thread: must not block, throw or call back into the port.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(const StepRecord& record) = 0;
};

}  // namespace takt::contract
