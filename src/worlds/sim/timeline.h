// The steps of a run, kept to be drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "contract/step_plan.h"
#include "worlds/sim/recorded_run.h"
#include "worlds/sim/request_record.h"

namespace takt::worlds {

struct TimelineChunk {
  contract::RequestId request;
  uint32_t begin = 0, end = 0;  // positions
};

struct TimelineStep {
  base::Micros began, ended;
  std::vector<TimelineChunk> chunks;
  std::vector<contract::RequestId> decode_rows;
};

TimelineStep timeline_step(const contract::StepPlan& plan, base::Micros began, base::Micros ended);
std::vector<TimelineStep> timeline_of(const RecordedRun& run);

struct Timeline {
  std::vector<TimelineStep> steps;     // in order of time
  std::vector<RequestRecord> records;  // in order of arrival
};

struct TimelineWindow {
  base::Micros from;
  base::Micros until;  // > from
};
// All of a timeline: from its first arrival to its last step's end.
TimelineWindow whole(const Timeline& timeline);

// A picture that stands alone (SVG): prefill chunks above, decode rows below, both coloured by request, over one time
// axis; under them the gap that decoding requests saw. Steps too short to be seen are drawn together.
std::string to_svg(const Timeline& timeline, const TimelineWindow& window);

// A trace for chrome://tracing or ui.perfetto.dev (JSON, Trace Event Format): the steps on one track, each request with
// its phases on another, counters of waiting and running requests.
std::string to_perfetto(const Timeline& timeline);

}  // namespace takt::worlds
