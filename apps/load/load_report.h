// How a load's figures are shown.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "load/load_stats.h"

namespace takt::apps {

// The figures of one run at one rate or number of clients.
struct LoadPoint {
  double load = 0;  // requests/s, or clients; 0: a trace at its own times
  LoadSummary summary;
};

struct LoadReport {
  std::string url, model;
  std::string process;  // "poisson", "gamma", "closed", "trace"
  LoadLimits limits;
  std::vector<LoadPoint> points;
  std::optional<double> highest_rate;  // of a search
  bool is_search = false;
};

// A line a point, then what went wrong and what the figures stand on.
std::string load_table(const LoadReport& report);
std::string load_json(const LoadReport& report);
// TTFT and ITL (P50, P99) over the load, logarithmic times, with the limits as lines. Precondition: a point.
std::string load_svg(const LoadReport& report);

// A scenario's figures, in order; the unit stands in the name ("gap_ms_p50").
using Figures = std::vector<std::pair<std::string, double>>;
std::string figures_json(const std::string& scenario, const Figures& figures);
std::string figures_table(const std::string& scenario, const Figures& figures);

}  // namespace takt::apps
