#include "worlds/sim/timeline.h"

#include <algorithm>

namespace takt::worlds {

TimelineStep timeline_step(const contract::StepPlan& plan, base::Micros began, base::Micros ended) {
  TimelineStep step{began, ended, {}, {}};
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    step.chunks.push_back({chunk.request, chunk.begin, chunk.end});
  }
  for (const contract::DecodeRow& row : plan.decode_rows) step.decode_rows.push_back(row.request);
  return step;
}

std::vector<TimelineStep> timeline_of(const RecordedRun& run) {
  std::vector<TimelineStep> steps;
  steps.reserve(run.steps.size());
  for (const RecordedStep& step : run.steps) steps.push_back(timeline_step(step.plan, step.planned, step.absorbed));
  return steps;
}

TimelineWindow whole(const Timeline& timeline) {
  TimelineWindow window{base::Micros(0), base::Micros(1)};
  if (!timeline.records.empty()) window.from = timeline.records.front().arrival.at;
  if (!timeline.steps.empty()) {
    window.from =
        timeline.records.empty() ? timeline.steps.front().began : std::min(window.from, timeline.steps.front().began);
    window.until = timeline.steps.back().ended;
  }
  window.until = std::max(window.until, window.from + base::Micros(1));
  return window;
}

}  // namespace takt::worlds
