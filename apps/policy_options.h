// The options by which an operator says what was promised to whom: --slo, --reserve-decode, --late, --step-time-max.
#pragma once

#include <string>
#include <vector>

#include "app_options.h"
#include "contract/service_policy.h"

namespace takt::apps {

struct PolicyOptions {
  std::vector<std::string> slo;             // "interactive:ttft=2s,itl=80ms"
  std::vector<std::string> reserve_decode;  // "interactive=4"
  std::string step_time_max = "250ms";
  std::string late = "accept";
};

void add_policy_options(CLI::App& app, PolicyOptions& options);
// Errors: invalid_argument, naming the option and what was expected.
base::Result<contract::ServicePolicy> read_policy(const PolicyOptions& options);

}  // namespace takt::apps
