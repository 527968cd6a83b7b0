// What a step's time depends on: counts over its rows, without knowing whose they are.
#pragma once

#include <cstdint>

#include "contract/step_plan.h"

namespace takt::contract {

struct StepShape {
  uint32_t prefill_tokens = 0;
  uint64_t prefill_pairs = 0;  // over all prefill rows, the positions each attends to
  uint32_t decode_rows = 0;
  uint64_t decode_positions = 0;  // over all decode rows, the positions each attends to
  uint32_t logits_rows = 0;       // rows that yield a token

  void add_prefill(uint32_t begin, uint32_t end, bool yields_token) {
    const uint64_t tokens = end - begin;
    prefill_tokens += end - begin;
    prefill_pairs += tokens * begin + tokens * (tokens + 1) / 2;
    logits_rows += yields_token ? 1 : 0;
  }
  void add_decode(uint32_t position) {
    ++decode_rows;
    decode_positions += position + 1;
    ++logits_rows;
  }
  void add(const PrefillChunk& chunk) { add_prefill(chunk.begin, chunk.end, chunk.is_last); }
  void add(const DecodeRow& row) { add_decode(row.position); }
  void add(const StepShape& part) {
    prefill_tokens += part.prefill_tokens;
    prefill_pairs += part.prefill_pairs;
    decode_rows += part.decode_rows;
    decode_positions += part.decode_positions;
    logits_rows += part.logits_rows;
  }

  bool operator==(const StepShape&) const = default;
  // Precondition: `part` was added to this.
  StepShape without(const StepShape& part) const {
    return {prefill_tokens - part.prefill_tokens, prefill_pairs - part.prefill_pairs, decode_rows - part.decode_rows,
            decode_positions - part.decode_positions, logits_rows - part.logits_rows};
  }
};

}  // namespace takt::contract
