// Drives an engine through hand-made plans, for measurements without scheduler, text or network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "model/model.h"

namespace takt::apps {

inline constexpr int64_t kDepthComputed = 1024;  // a multiple of a page

struct DriverOptions {
  int64_t sequence_count = 1;
  int64_t positions = 0;      // of each sequence at most
  int64_t step_rows_max = 1;  // of one step
  bool does_sample = false;   // false: the next token is given, and no logit is looked at
};

// Sequences of random ids (seeded), each on pages of its own that it keeps: a sequence begun anew finds the keys and values of its
// first positions computed, since its tokens are the same.
class EngineDriver {
 public:
  // Fails the command when memory is short.
  EngineDriver(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, const DriverOptions& options);

  // The sequence becomes a request whose prompt is its first `prompt_tokens` tokens. 0 < prompt_tokens <= positions
  void begin(int64_t sequence, int64_t prompt_tokens);
  // Evaluates positions [begin, end) of one sequence in steps of at most `chunk` tokens; the last yields a token when `end` is the
  // end of the prompt.
  void prefill(int64_t sequence, int64_t begin, int64_t end, int64_t chunk);
  // Keys and values of the sequence's first `depth` positions: computed up to kDepthComputed, behind that copies of those pages, since
  // computing a depth costs its square and no speed depends on what keys and values are.
  void fill_depth(int64_t sequence, int64_t depth, int64_t chunk);
  // One step: the token at `position` of each of the first `count` sequences.
  void decode(int64_t count, int64_t position);

  // One step with both phases: the token at `positions[i]` of sequence i, and positions [begin, end) of sequence `chunk`, if end > 0.
  // Returns its plan and what came of it.
  struct Mixed {
    contract::StepPlan plan;
    contract::StepCompletion completion;
  };
  Mixed mixed(const std::vector<int64_t>& positions, int64_t chunk, int64_t begin, int64_t end);

  engine::Engine& engine() { return *engine_; }

 private:
  std::vector<contract::PageId> pages_once(int64_t sequence);
  void step(const contract::StepPlan& plan);

  DriverOptions options_;
  int64_t pages_per_sequence_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<std::vector<contract::TokenId>> tokens_;  // [sequence][position]
  std::vector<int64_t> prompt_tokens_;                  // [sequence]
  std::vector<bool> has_pages_;                         // [sequence]
};

}  // namespace takt::apps
