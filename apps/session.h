// Everything between a model file and a serving port, put together once for all commands.
#pragma once

#include <CLI/CLI.hpp>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/thread_pool.h"
#include "contract/model_shape.h"
#include "contract/scheduler_port.h"
#include "engine/engine.h"
#include "gguf/file.h"
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
  uint64_t kv_tokens = 0;  // KV memory in tokens; 0: as much as eight full contexts, at most a third of the free memory
  std::string prefix_cache = "on";  // or "off"
