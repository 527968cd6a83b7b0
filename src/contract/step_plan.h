// What the scheduler asks the engine to do next, and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "contract/ids.h"
#include "contract/request.h"

namespace takt::contract {

// Evaluate positions [begin, end) of a request's token sequence (its prompt; after a preemption also the tokens it had already
// produced). The chunk that reaches the end of the sequence yields one output token.
struct PrefillChunk {
  RequestId request;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_last = false;  // end == length of the sequence: samples a token (unless output_tokens_max is 0)
  // Appended to the request's page table before the step. A first chunk that begins behind 0 brings pages in which
  // [0, begin) was evaluated before: whole ones shared with others, the last one perhaps the target of a PageCopy.
  std::vector<PageId> pages_added;
  bool operator==(const PrefillChunk&) const = default;
};

// Feed the request's newest token, which stands at `position`, and yield the next one (more with accepted drafts).
struct DecodeRow {
  RequestId request;
  uint32_t position = 0;
  std::vector<TokenId> draft_tokens;  // to be verified after it; empty without speculation
  std::vector<PageId> pages_added;
  bool operator==(const DecodeRow&) const = default;
};

// Copy a page's bytes before the step's work, in plan order (copy-on-write of a shared page). `from` keeps its bytes until
// the step ends.
struct PageCopy {
  PageId from, to;
  bool operator==(const PageCopy&) const = default;
};

struct StepPlan {
  uint64_t step = 0;                 // counts from 1; 0 in a plan without work
  std::vector<RequestId> preempted;  // drop the page table; the sequence will be evaluated again later
  std::vector<PageCopy> page_copies;
  std::vector<PrefillChunk> prefill_chunks;
  std::vector<DecodeRow> decode_rows;
  // Only in a plan without work: call next() again at this time at the latest (nothing: wait for an event).
  std::optional<base::Micros> wake_at;

  bool has_work() const { return !prefill_chunks.empty() || !decode_rows.empty(); }
  bool operator==(const StepPlan&) const = default;
};

// What one row of a plan came to. Rows that yield no token (a prompt's inner chunks) have tokens_accepted 0.
struct RowResult {
  RequestId request;
  Phase phase = Phase::prefill;
  uint32_t tokens_accepted = 0;              // output tokens appended to the request's sequence by this step
  FinishReason finish = FinishReason::none;  // decided in the engine, by StopDetector and the limits
  // The tokens accepted, in order: the names of their positions in the prefix cache. Or empty, when the caller does not
  // know them: then the positions of this request's output are not cached.
  std::vector<TokenId> tokens = {};
  bool operator==(const RowResult&) const = default;
};

struct StepResult {
  uint64_t step = 0;
  std::vector<RowResult> rows;  // prefill chunks in plan order, then decode rows in plan order
  base::Micros duration;        // from start() to completion
  bool operator==(const StepResult&) const = default;
};

}  // namespace takt::contract
