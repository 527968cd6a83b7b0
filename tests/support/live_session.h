// A model behind the real scheduler, engine and loop, for tests that submit requests as a server does.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "contract/model_shape.h"
#include "contract/serving_port.h"
#include "engine/engine.h"
#include "support/test_model.h"
#include "worlds/real/real_world.h"

namespace takt::tests {

// All that one request was told, in order.
class CollectingSink : public contract::OutputSink {
 public:
  void on_output(const contract::RequestOutput& output, const contract::RequestTimes& times) override;
  // Blocks until the request has ended.
  void wait();
  // Blocks until at least this many output tokens came, or the end.
  void wait_for_tokens(size_t count);

  // Valid after wait().
  std::vector<contract::TokenOutput> prompt_positions, tokens;
  std::string text;
  contract::FinishReason finish = contract::FinishReason::none;
  contract::RequestTimes times;
  std::vector<contract::TimeParts> parts;  // times.since_last of each output
  int ends = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// What a request said, to the bit: ids and the bits of every log-probability.
std::string fingerprint(const CollectingSink& sink);

class LiveSession {
 public:
  // `wrap` may put something (a recorder) between the world and the scheduler.
  using Wrap = std::function<std::unique_ptr<contract::SchedulerPort>(contract::SchedulerPort&)>;
  LiveSession(std::shared_ptr<const model::Model> model, int threads, const contract::Capacity& capacity,
              const Wrap& wrap = {});
  ~LiveSession();

  // Runs the loop; requests may be submitted before, so that a test decides what is there when the first step is planned.
  void start();

  worlds::RealWorld& world() { return *world_; }
  // Submits and fails the test when refused.
  std::shared_ptr<CollectingSink> submit(std::vector<contract::TokenId> prompt, int64_t output_tokens_max,
                                         contract::GenerationSpec spec, contract::RequestId* id = nullptr,
                                         contract::ServiceClass service_class = contract::ServiceClass::interactive);

 private:
  base::ThreadPool pool_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<contract::SchedulerPort> scheduler_, wrapped_;
  std::unique_ptr<worlds::RealWorld> world_;
  std::thread loop_;
};

}  // namespace takt::tests
