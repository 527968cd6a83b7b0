#include "replay/watching_scheduler.h"

#include <algorithm>

namespace takt::tests {

WatchingScheduler::WatchingScheduler(contract::SchedulerPort& inner, const contract::Capacity& capacity)
    : inner_(inner), capacity_(capacity) {}

contract::Admission WatchingScheduler::submit(const contract::Request& request, base::Micros now) {
  contract::Admission admission = inner_.submit(request, now);
  if (admission.is_accepted) {
    Live& live = live_[request.id];
    live.due = admission.due;
    live.arrival = ++arrivals_;
    live.service_class = request.service_class;
    const int64_t tokens = request.prompt_tokens().count() + admission.output_tokens_max.count();
    if (tokens > capacity_.context_tokens) fault("more tokens admitted than the context holds");
  } else if (admission.reason.empty()) {
    fault("refused without a reason");
  }
  return admission;
}

void WatchingScheduler::cancel(contract::RequestId id, base::Micros now) {
  inner_.cancel(id, now);
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  if (found->second.is_in_step) {
    found->second.is_cancelled = true;
  } else {
    live_.erase(found);
  }
}

contract::StepPlan WatchingScheduler::next(base::Micros now) {
  contract::StepPlan plan = inner_.next(now);
  if (plan.has_work()) {
    step_ = plan.step;
    check_order(plan);
    check_progress(plan, now);
  } else if (!live_.empty()) {
    fault("no work, though " + std::to_string(live_.size()) + " requests live");
  } else if (!plan.preempted.empty()) {
    fault("a preemption for nothing");
  }
  check_counts();
  return plan;
}

// Preemptions hit nobody who ranks first; whoever starts ranks before all who wait.
void WatchingScheduler::check_order(const contract::StepPlan& plan) {
  for (const contract::RequestId id : plan.preempted) {
    Live& victim = live_.at(id);
    bool has_one_before = false;
    for (const auto& [other_id, other] : live_) has_one_before |= other.ranks_before(victim);
    if (!has_one_before) fault("the first of all was preempted");
    if (!victim.is_resident) fault("a waiting request was preempted");
    victim.is_resident = victim.is_decoding = false;
  }
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    Live& live = live_.at(chunk.request);
    if (live.is_decoding) fault("a prefill chunk of a decoding request");
    const auto& preempted = plan.preempted;
    if (std::count(preempted.begin(), preempted.end(), chunk.request) > 0) fault("preempted to start at once");
    for (const auto& [other_id, other] : live_) {
      if (!live.is_resident && !other.is_resident && other.ranks_before(live)) fault("one started past another");
    }
    live.is_resident = live.is_in_step = true;
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    Live& live = live_.at(row.request);
    if (!live.is_decoding) fault("a decode row of a request that does not decode");
    live.is_in_step = true;
  }
}

// Of the best class that has work, every decoding request gets a row while pages are free, and its prompts at least a tile.
void WatchingScheduler::check_progress(const contract::StepPlan& plan, base::Micros now) {
  const bool has_pages_left = inner_.bounds().pages_free > 0;
  auto first_class = contract::ServiceClass::background;
  for (const auto& [id, live] : live_) first_class = std::min(first_class, live.service_class);
  bool has_prompt_in_turn = false, has_moved = false;
  for (const auto& [id, live] : live_) {
    has_moved |= live.is_in_step;
    if (!live.is_resident || live.is_in_step) continue;
    if (live.is_decoding && live.service_class == first_class && has_pages_left)
      fault("a decoding request without a row, though pages are free");
    has_prompt_in_turn |= !live.is_decoding && (live.service_class == first_class || live.due <= now);
  }
  if (has_prompt_in_turn && plan.prefill_chunks.empty() && has_pages_left) fault("no prompt moves");
  if (!has_moved) fault("nobody moves");
}

void WatchingScheduler::check_counts() {
  uint32_t waiting = 0, prefilling = 0, decoding = 0;
  for (const auto& [id, live] : live_) ++(live.is_decoding ? decoding : live.is_resident ? prefilling : waiting);
  const contract::Bounds bounds = inner_.bounds();
  if (bounds.waiting_requests != waiting || bounds.prefilling_requests != prefilling ||
      bounds.decoding_requests != decoding) {
    fault("bounds() counts other requests than there are");
  }
  if (bounds.pages_used + bounds.pages_free != capacity_.page_count) fault("pages are missing");
}

void WatchingScheduler::absorb(const contract::StepResult& result, base::Micros now) {
  inner_.absorb(result, now);
  for (const contract::RowResult& row : result.rows) {
    Live& live = live_.at(row.request);
    live.is_in_step = false;
    live.is_decoding |= row.tokens_accepted > 0;
    if (live.is_cancelled || row.finish != contract::FinishReason::none) live_.erase(row.request);
  }
}

void WatchingScheduler::fault(const std::string& sentence) {
  if (faults_.size() < 1000) faults_ += "step " + std::to_string(step_) + ": " + sentence + "\n";
}

}  // namespace takt::tests
