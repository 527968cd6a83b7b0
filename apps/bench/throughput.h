// Prefill and decode speed of a model without scheduler, text or network: what llama-bench measures, by the same rules.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "model/model.h"

namespace takt::apps {

// One row of the result table. prompt_tokens and generated_tokens both set: a blended test, as llama-bench's -pg.
struct ThroughputTest {
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t depth_tokens = 0;  // already in the KV cache when the clock starts; beyond 1024 copies of the first pages
  int64_t batch_tokens = 2048;
  int64_t chunk_tokens = 512;  // tokens of one step
};

struct ThroughputResult {
  ThroughputTest test;
  int threads = 0;
  std::vector<int64_t> samples_ns;  // one per repetition
};

// Random ids (seeded), logits of the last prompt token only; generation feeds one random token per step with logits and without
// sampling. With does_warm_up, one run before that is not counted. Fails the command when memory is short.
ThroughputResult measure_throughput(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                    const ThroughputTest& test, int repetitions, bool does_warm_up);

}  // namespace takt::apps
