#include "worlds/sim/sim_world.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace takt::worlds {
namespace {

// What an engine answers that could not execute the plan: every row ends.
std::vector<contract::RowResult> error_rows(const contract::StepPlan& plan) {
  std::vector<contract::RowResult> rows;
  for (const auto& chunk : plan.prefill_chunks) {
    rows.push_back({chunk.request, contract::Phase::prefill, 0, contract::FinishReason::error, {}});
  }
  for (const auto& row : plan.decode_rows) {
    rows.push_back({row.request, contract::Phase::decode, 0, contract::FinishReason::error, {}});
  }
  return rows;
}

}  // namespace

SimWorld::SimWorld(contract::SchedulerPort& scheduler, const contract::Capacity& capacity, const cost::StepCost& truth,
                   Traffic& traffic)
    : scheduler_(scheduler), truth_(truth), traffic_(traffic), engine_(capacity) {}

base::Status SimWorld::run() {
  run_loop(scheduler_, *this);
  return failure_;
}

std::optional<base::Micros> SimWorld::next_event() const {
  const Arrival* arrival = traffic_.peek();
  std::optional<base::Micros> time;
  if (arrival) time = arrival->at;
  if (!hang_ups_.empty()) time = std::min(time.value_or(hang_ups_.begin()->first), hang_ups_.begin()->first);
  return time;
}

// Lets everything happen that is due by `time`, each at its own moment.
void SimWorld::pass_until(base::Micros time) {
  for (std::optional<base::Micros> event = next_event(); event && *event <= time; event = next_event()) {
    now_ = std::max(now_, *event);
    if (!hang_ups_.empty() && hang_ups_.begin()->first <= *event) {
      const contract::RequestId id = hang_ups_.begin()->second;
      hang_ups_.erase(hang_ups_.begin());
      hang_up(id);
    } else {
      const Arrival arrival = *traffic_.peek();
      traffic_.pop();
      arrive(arrival);
    }
  }
  now_ = std::max(now_, time);
}

void SimWorld::arrive(const Arrival& arrival) {
  RequestRecord record;
  record.id = contract::RequestId{records_.size() + 1};
  record.arrival = arrival;
  contract::Request request;
  request.id = record.id;
  request.prompt = make_prompt(arrival, record.id.value);
  request.tenant = arrival.tenant;
  request.output_tokens_max = base::Tokens(arrival.output_tokens_max);
  request.service_class = arrival.service_class;
  const contract::Admission admission = scheduler_.submit(request, now_);
  if (admission.is_accepted) {
    const auto output_tokens_max = static_cast<uint32_t>(admission.output_tokens_max.count());
    engine_.admit(request, output_tokens_max, arrival.output_tokens, arrival.answer);
    ++live_count_;
    if (ledger_) ledger_->submit(record.id, now_);
    if (arrival.cancel_after) hang_ups_.emplace(now_ + *arrival.cancel_after, record.id);
  } else {
    record.is_refused = true;
    record.finished = now_;
  }
  records_.push_back(std::move(record));
  if (!admission.is_accepted) traffic_.on_finished(now_);
}

RequestRecord* SimWorld::find_live(contract::RequestId id) {
  RequestRecord& record = records_[id.value - 1];
  return record.finished ? nullptr : &record;
}

void SimWorld::hang_up(contract::RequestId id) {
  RequestRecord* record = find_live(id);
  if (!record) return;  // its answer was complete before
  scheduler_.cancel(id, now_);
  end(*record, contract::FinishReason::cancelled);
  if (plan_) {
    to_release_.push_back(id);
  } else {
    engine_.release(id);
  }
}

void SimWorld::start(const contract::StepPlan& plan) {
  plan_ = &plan;
  if (ledger_) ledger_->begin_step(plan, scheduler_, now_);
  step_started_ = step_ends_ = now_;
  ++steps_;
  preemptions_ += plan.preempted.size();
  failure_ = engine_.start(plan);
  if (!failure_.ok()) return;
  step_ends_ = now_ + truth_.predict(plan);
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    RequestRecord& record = records_[chunk.request.value - 1];
    if (record.first_scheduled) continue;
    record.first_scheduled = now_;
    record.prompt_tokens_cached = chunk.begin;
  }
}

contract::StepCompletion SimWorld::complete() {
  contract::StepCompletion completion;
  pass_until(step_ends_);
  completion.result.step = steps_;
  completion.result.rows = failure_.ok() ? engine_.complete() : error_rows(*plan_);
  completion.result.duration = step_ends_ - step_started_;
  if (listener_) listener_(*plan_, step_started_);
  host_ = failure_.ok() ? truth_.predict_host(*plan_) : base::Micros(0);
  plan_ = nullptr;
  return completion;
}

void SimWorld::deliver(const contract::StepCompletion& completion) {
  if (ledger_) ledger_->end_step(completion.result, completion.sampling, now_);
  for (const contract::RowResult& row : completion.result.rows) {
    RequestRecord* record = find_live(row.request);
    if (!record) continue;  // it hung up during the step
    record->note_tokens(row.tokens_accepted, now_);
    for (uint32_t i = 0; ledger_ && i < row.tokens_accepted; ++i)
      record->parts.push_back(ledger_->take(row.request, now_));
    if (row.finish == contract::FinishReason::none) continue;
    engine_.release(row.request);
    end(*record, row.finish);
  }
  for (const contract::RequestId id : to_release_) engine_.release(id);
  to_release_.clear();
  pass_until(now_ + host_);  // on the host's account; who arrives meanwhile takes the lock between two calls
}

void SimWorld::end(RequestRecord& record, contract::FinishReason reason) {
  record.finish = reason;
  record.finished = now_;
  --live_count_;
  if (ledger_) {
    record.parts.push_back(ledger_->take(record.id, now_));
    ledger_->forget(record.id);
  }
  traffic_.on_finished(now_);
}

void SimWorld::wait_until(NoLock&, std::optional<base::Micros> wake_at) {
  std::optional<base::Micros> until = next_event();
  if (wake_at) until = std::min(until.value_or(*wake_at), *wake_at);
  if (until) {
    now_ = std::max(now_, *until);
  } else if (live_count_ > 0) {
    failure_ = base::Error{base::ErrorCode::internal, "the scheduler sleeps for ever though requests are alive"};
  }
}

}  // namespace takt::worlds
