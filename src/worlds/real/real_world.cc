#include "worlds/real/real_world.h"

#include "worlds/loop.h"

namespace takt::worlds {

RealWorld::RealWorld(contract::SchedulerPort& scheduler, contract::EnginePort& engine)
    : scheduler_(scheduler), engine_(engine) {}

void RealWorld::run() { run_loop(scheduler_, *this); }

void RealWorld::drain() {
  const std::lock_guard guard(mutex_);
  is_draining_ = has_event_ = true;
  event_.notify_all();
}

void RealWorld::stop() {
  const std::lock_guard guard(mutex_);
  is_draining_ = has_event_ = true;
  for (const auto& [id, entry] : entries_) cancel_locked(id);
  event_.notify_all();
}

base::Micros RealWorld::now() const {
  return base::Micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - origin_).count());
}

base::Result<contract::Acceptance> RealWorld::submit(contract::Submission submission) {
  if (submission.request.prompt == nullptr || submission.request.prompt->empty())
    return base::Error{base::ErrorCode::invalid_argument, "the prompt has no tokens"};
  const std::lock_guard guard(mutex_);
  if (is_draining_) return base::Error{base::ErrorCode::shutting_down, "the server is shutting down"};
  contract::Request& request = submission.request;
  // Nobody can be told what the model expected at a position that is not evaluated.
  if (submission.generation.prompt_top_logprobs) request.reads_prefix_cache = false;
  request.id = contract::RequestId{next_id_++};
  const base::Micros time = now();
  const contract::Admission admission = scheduler_.submit(request, time);
  if (!admission.is_accepted) {
    base::Error error{admission.refusal, admission.reason};
    error.retry_after_s = static_cast<uint32_t>((admission.retry_after.count() + 999'999) / 1'000'000);
    return error;
  }
  request.output_tokens_max = admission.output_tokens_max;
  // The engine only files the request here, which a running step does not notice.
  if (auto status = engine_.admit(request, std::move(submission.generation)); !status) {
    scheduler_.cancel(request.id, time);
    return status.error();
  }
  Entry entry;
  entry.sink = std::move(submission.sink);
  entry.times.submitted = time;
  entry.times.prompt_tokens = request.prompt_tokens();
  entry.times.predicted_ttft = admission.predicted_ttft;
  entry.times.predicted_finish = admission.predicted_finish;
  entries_.emplace(request.id, std::move(entry));
  ledger_.submit(request.id, time);
  has_event_ = true;
  event_.notify_all();
  return contract::Acceptance{request.id, admission.predicted_ttft, admission.predicted_finish};
}

void RealWorld::cancel(contract::RequestId id) {
  const std::lock_guard guard(mutex_);
  cancel_locked(id);
  event_.notify_all();
}

void RealWorld::cancel_locked(contract::RequestId id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.is_cancelled) return;
  found->second.is_cancelled = true;
  cancelled_.push_back(id);
  scheduler_.cancel(id, now());
  has_event_ = true;
}

contract::Bounds RealWorld::bounds() const {
  const std::lock_guard guard(mutex_);
  return scheduler_.bounds();
}

void RealWorld::listen(contract::StepListener* listener) {
  const std::lock_guard guard(mutex_);
  listener_ = listener;
}

void RealWorld::take_events() {
  has_event_ = false;
  for (contract::RequestId id : cancelled_) {
    Entry& entry = entries_.at(id);
    contract::RequestOutput output;
    output.request = id;
    output.finish = contract::FinishReason::cancelled;
    note_output(entry, output, now());
    engine_.release(id);
    entries_.erase(id);
    ledger_.forget(id);
  }
  cancelled_.clear();
}

void RealWorld::start(const contract::StepPlan& plan) {
  const base::Micros time = now();
  ledger_.begin_step(plan, scheduler_, time);
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    contract::RequestTimes& times = entries_.at(chunk.request).times;
    if (times.first_scheduled) continue;
    times.first_scheduled = time;
    times.prompt_tokens_cached = base::Tokens(chunk.begin);
  }
  engine_.start(plan);
}

contract::StepCompletion RealWorld::complete() {
  const base::Micros begin = now();
  contract::StepCompletion completion = engine_.complete();
  completion.result.duration = now() - begin;
  return completion;
}

void RealWorld::deliver(contract::StepCompletion& completion) {
  const base::Micros time = now();
  ledger_.end_step(completion.result, completion.sampling, time);
  if (listener_ != nullptr) listener_->on_step(ledger_.last_step());
  for (const contract::RequestOutput& output : completion.outputs) {
    Entry& entry = entries_.at(output.request);
    if (entry.is_cancelled) continue;  // take_events() ends it
    note_output(entry, output, time);
    if (output.finish == contract::FinishReason::none) continue;
    engine_.release(output.request);
    entries_.erase(output.request);
    ledger_.forget(output.request);
  }
}

void RealWorld::note_output(Entry& entry, const contract::RequestOutput& output, base::Micros now) {
  contract::RequestTimes& times = entry.times;
  times.output_tokens += base::Tokens(static_cast<int64_t>(output.tokens.size()));
  const bool is_end = output.finish != contract::FinishReason::none;
  if (!times.first_token && (!output.tokens.empty() || output.finish == contract::FinishReason::length))
    times.first_token = now;
  if (is_end) times.finished = now;
  times.since_last = ledger_.take(output.request, now);
  entry.sink->on_output(output, times);
}

void RealWorld::wait_until(std::unique_lock<std::mutex>& lock, std::optional<base::Micros> time) {
  const auto is_ready = [this] { return has_event_ || is_done(); };
  if (!time) return event_.wait(lock, is_ready);
  event_.wait_until(lock, origin_ + std::chrono::microseconds(time->count()), is_ready);
}

}  // namespace takt::worlds
