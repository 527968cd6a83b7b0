#include "bench/throughput.h"

#include <algorithm>
#include <chrono>

#include "bench/engine_driver.h"

namespace takt::apps {
namespace {

int64_t chunk_of(const ThroughputTest& test) {
  return std::max<int64_t>(1, std::min(test.chunk_tokens, test.batch_tokens));
}

EngineDriver make_driver(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                         const ThroughputTest& test) {
  return EngineDriver(std::move(model), pool,
                      {1, test.depth_tokens + test.prompt_tokens + test.generated_tokens + 1, chunk_of(test), false});
}

int64_t run_once(EngineDriver& driver, const ThroughputTest& test) {
  const int64_t depth = test.depth_tokens, prompt_end = depth + test.prompt_tokens;
  // Without a prompt the first fed token is the one behind the depth.
  driver.begin(0, test.prompt_tokens > 0 ? prompt_end : depth + 1);
  const auto start = std::chrono::steady_clock::now();
  if (test.prompt_tokens > 0) driver.prefill(0, depth, prompt_end, chunk_of(test));
  for (int64_t i = 0; i < test.generated_tokens; ++i) driver.decode(1, prompt_end + i);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ThroughputResult measure_throughput(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                    const ThroughputTest& test, int repetitions, bool does_warm_up) {
  ThroughputTest warm_up = test;
  warm_up.depth_tokens = 0;
  warm_up.generated_tokens = std::min<int64_t>(test.generated_tokens, 1);
  if (does_warm_up) {
    EngineDriver driver = make_driver(model, pool, warm_up);
    run_once(driver, warm_up);
  }
  EngineDriver driver = make_driver(model, pool, test);
  if (test.depth_tokens > 0) {
    driver.fill_depth(0, test.depth_tokens, chunk_of(test));
  }
  ThroughputResult result{test, pool.thread_count(), {}};
  for (int i = 0; i < repetitions; ++i) result.samples_ns.push_back(run_once(driver, test));
  return result;
}

}  // namespace takt::apps
