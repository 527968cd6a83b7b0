// What `takt sim` (and takt-sim, the same without anything that computes) can be told.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/model_shape.h"
#include "cost/roofline/machine_rates.h"
#include "policy_options.h"
#include "worlds/sim/traffic.h"

namespace takt::apps {

// What replaces a field of the capacity that would hold otherwise: the recording's, or the default one.
struct CapacityFlags {
  std::optional<uint32_t> rows_max, waiting_requests_max, page_count, context_tokens, step_tokens_max,
      chunk_tokens_beside_decode;
  std::optional<int64_t> waiting_tokens_max;
  std::optional<bool> has_prefix_cache;
};

struct SimOptions {
  worlds::TrafficSpec traffic;
  std::string trace;  // instead of generated traffic
  std::optional<uint32_t> request_count;
  double time_scale = 1;
  CapacityFlags capacity;
  PolicyOptions policy;
  cost::MachineRates rates;
  std::string cost;              // file of coefficients: read, or with `fit` written
  std::vector<std::string> fit;  // recordings
  bool is_smooth = false;        // steps take their typical time
  std::string record, replay, svg, perfetto, window;
  bool shows_recorded = false;
  bool is_json = false;
};

void add_sim_options(CLI::App& app, SimOptions& options);

// The default server with the flags' changes.
contract::Capacity default_sim_capacity();
contract::Capacity with_flags(contract::Capacity capacity, const CapacityFlags& flags);

}  // namespace takt::apps
