// A model under test without scheduler or text: token ids in, logits out, with the schedule in the test's hands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/forward.h"
#include "engine/kv_memory.h"
#include "gguf/file.h"
#include "kernels/kernel_set.h"
#include "model/model.h"

namespace takt::tests {

// <cache>/models/<name>.gguf if it is there, else an empty string. <cache> as the product finds it.
std::string cached_model(const std::string& name);
// A folder or file of the shared test data ($TAKT_SHARED, or ../shared beside the checkout), or an empty string.
std::string shared_path(const std::string& relative);

class TestModel {
 public:
  // `change` may alter the network before the weights are read (to switch a feature off). Fails the test on an error.
  static std::unique_ptr<TestModel> load(const std::string& path, const std::string& kernel_set, int threads,
                                         const std::function<void(model::NetworkSpec&)>& change = {},
                                         std::optional<base::KvFormats> kv = {});

  using Sink = std::function<void(int64_t position, std::span<const float> logits)>;
  // The tokens from position 0 on, `chunk` rows a step, logits of every position. chunk 1 runs decode rows.
  void run(std::span<const contract::TokenId> tokens, int64_t chunk, const Sink& sink);

  const model::Model& model() const { return *model_; }
  std::shared_ptr<const model::Model> shared_model() const { return model_; }
  base::ThreadPool& pool() { return *pool_; }

 private:
  std::unique_ptr<base::ThreadPool> pool_;
  std::shared_ptr<const model::Model> model_;
};

// Natural log-probabilities of the whole vocabulary.
std::vector<double> log_softmax(std::span<const float> logits);

}  // namespace takt::tests
