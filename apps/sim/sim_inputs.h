// The files that a simulation reads and writes. All of these fail the command (see fail()) on any error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/fitted/fitted_cost.h"
#include "worlds/sim/recorded_run.h"
#include "worlds/sim/timeline.h"
#include "worlds/sim/traffic.h"

namespace takt::apps {

struct Trace {
  std::vector<worlds::Arrival> arrivals;
  std::optional<worlds::RecordedRun> recorded;  // when the file is a recording of Takt's own
};

// Tells the formats apart by their first characters.
Trace read_trace(const std::string& path);
worlds::RecordedRun read_recording(const std::string& path);
cost::CostCoefficients read_cost(const std::string& path);
void write_file(const std::string& path, std::string_view text);
// "20:40", in seconds; empty: all of it.
worlds::TimelineWindow parse_window(const std::string& text, const worlds::Timeline& timeline);

}  // namespace takt::apps
