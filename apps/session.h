// Everything between a model file and a serving port, put together once for all commands.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "engine/engine.h"
#include "gguf/file.h"
#include "kv_options.h"
#include "model/model.h"
#include "worlds/real/real_world.h"

namespace takt::apps {

struct SessionOptions {
  std::string model;
  int threads = 0;                          // 0: one a core
  std::string kernels;                      // empty: the best this processor supports
  uint32_t context_tokens = 0;              // 0: the model's, at most kContextDefaultMax
  uint32_t rows_max = 64;                   // requests running at once
  uint32_t chunk_tokens = 512;              // prompt tokens in a step without decode rows
  uint32_t chunk_tokens_beside_decode = 0;  // 0: the closed loop
  KvOptions kv;
  uint64_t kv_tokens = 0;  // KV memory in tokens; 0: as much as eight full contexts, at most a third of the free memory
  std::string prefix_cache = "on";  // or "off"
  std::string record;               // file to record the scheduler's calls in
  contract::ServicePolicy policy;
};

// The scheduler counts positions in 32 bits with room to spare.
inline constexpr uint32_t kContextTokensMax = 1u << 24;

// The options of every command that loads a model.
void add_session_options(CLI::App& app, SessionOptions& options);

// Opens and checks a file; fails the command with a message otherwise.
std::shared_ptr<const gguf::File> open_model_file(const std::string& model);

class Session {
 public:
  // Loads the model and starts the loop on a thread of its own. Fails the command (see fail()) on any error.
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  worlds::RealWorld& world() { return *world_; }
  const model::Model& model() const { return *model_; }
  std::shared_ptr<const gguf::File> file() const { return file_; }
  const contract::Capacity& capacity() const { return capacity_; }
  int threads() const { return pool_->thread_count(); }
  double load_seconds() const { return load_seconds_; }
  // The same by what was done, in order: they sum to it.
  const std::vector<std::pair<std::string, base::Micros>>& load_times() const { return load_times_; }
  // Waits until the loop has ended (after world().drain() or stop()).
  void join();

 private:
  void note_load(const char* what);
  void choose_capacity(const SessionOptions& options);

  std::shared_ptr<const gguf::File> file_;
  std::unique_ptr<base::ThreadPool> pool_;
  std::shared_ptr<const model::Model> model_;
  contract::Capacity capacity_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<contract::SchedulerPort> scheduler_;
  std::ofstream record_stream_;
  std::unique_ptr<contract::SchedulerPort> recorder_;
  std::unique_ptr<worlds::RealWorld> world_;
  std::thread loop_;
  double load_seconds_ = 0;
  std::chrono::steady_clock::time_point load_began_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, base::Micros>> load_times_;
};

}  // namespace takt::apps
