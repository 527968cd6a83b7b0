#include "scheduler/scheduler.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>
#include <utility>

#include "scheduler/admission.h"
#include "scheduler/decode/decode_rows.h"
#include "scheduler/prefill/prefill_chunks.h"

namespace takt::scheduler {

base::Result<std::unique_ptr<contract::SchedulerPort>> make_scheduler(const contract::Capacity& capacity) {
  if (base::Status status = check(capacity); !status.ok()) return status.error();
  return std::unique_ptr<contract::SchedulerPort>(std::make_unique<Scheduler>(capacity));
}

Scheduler::Scheduler(const contract::Capacity& capacity) : capacity_(capacity), residents_(capacity, queue_) {
  assert(check(capacity).ok());
}

contract::Admission Scheduler::submit(const contract::Request& request, base::Micros now) {
  if (sequences_.contains(request.id)) {
    contract::Admission admission;
    admission.refusal = base::ErrorCode::invalid_argument;
    admission.reason = "request " + std::to_string(request.id.value) + " is already here";
    return admission;
  }
  const contract::Admission admission = decide_admission(request, capacity_, queue_.request_count(), queue_.tokens());
  if (!admission.is_accepted) return admission;
  Sequence& sequence = sequences_[request.id];
  sequence.id = request.id;
  sequence.rank = Rank{now + class_allowance(request.service_class), ++arrivals_};
  sequence.service_class = request.service_class;
  sequence.prompt = request.prompt;
  sequence.prompt_tokens = static_cast<uint32_t>(request.prompt->size());
  sequence.output_tokens_max = static_cast<uint32_t>(admission.output_tokens_max.count());
  outputs_outstanding_ += sequence.outputs_remaining();
  queue_.add(sequence);
  return admission;
}

void Scheduler::cancel(contract::RequestId id, base::Micros /*now*/) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  if (found->second.is_in_step) {
    found->second.is_cancelled = true;  // the running step still writes to its pages
  } else {
    end(found->second);
  }
}

contract::StepPlan Scheduler::next(base::Micros /*now*/) {
  assert(rows_in_step_.empty() && "the previous step was not absorbed");
  contract::StepPlan plan;
  plan_decode_rows(residents_, plan);
  const uint32_t budget = prefill_budget(capacity_, static_cast<uint32_t>(plan.decode_rows.size()));
  plan_prefill_chunks(queue_, residents_, budget, plan);
  assert(plan.has_work() || sequences_.empty());  // whoever ranks first always finds room: see Residents
  if (plan.has_work()) begin_step(plan);
  return plan;
}

void Scheduler::begin_step(contract::StepPlan& plan) {
  plan.step = ++step_;
  preemptions_ += plan.preempted.size();
  prefill_tokens_in_step_ = 0;
  const auto enter = [&](contract::RequestId id, RowInStep row) {
    row.sequence = &sequences_.at(id);
    row.sequence->is_in_step = true;
    rows_in_step_.push_back(row);
  };
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    prefill_tokens_in_step_ += chunk.end - chunk.begin;
    enter(chunk.request, {nullptr, contract::Phase::prefill, chunk.end, chunk.is_last});
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    enter(row.request, {nullptr, contract::Phase::decode, row.position + 1, /*yields_tokens=*/true});
  }
}

void Scheduler::absorb(const contract::StepResult& result, base::Micros /*now*/) {
  assert(result.step == step_ && result.rows.size() == rows_in_step_.size() && "not the result of the running step");
  uint32_t decode_row_count = 0;
  for (size_t i = 0; i < rows_in_step_.size(); ++i) {
    if (rows_in_step_[i].phase == contract::Phase::decode) ++decode_row_count;
    absorb_row(rows_in_step_[i], result.rows[i]);
  }
  rows_in_step_.clear();
  estimator_.learn(prefill_tokens_in_step_, decode_row_count, result.duration);
}

void Scheduler::absorb_row(const RowInStep& row, const contract::RowResult& result) {
  Sequence& sequence = *row.sequence;
  assert(result.request == sequence.id && result.phase == row.phase);
  sequence.is_in_step = false;
  if (sequence.is_cancelled || result.finish != contract::FinishReason::none) {
    end(sequence);
    return;
  }
  if (!row.yields_tokens) {
    assert(result.tokens_accepted == 0);
    sequence.tokens_evaluated = row.tokens_evaluated;
    return;
  }
  // The engine ends a request at its limit, so one that goes on has got a token and may get another.
  assert(result.tokens_accepted >= 1 && result.tokens_accepted < sequence.outputs_remaining());
  sequence.tokens_produced += result.tokens_accepted;
  outputs_outstanding_ -= result.tokens_accepted;
  sequence.tokens_evaluated = sequence.length() - 1;  // all but the newest
  sequence.stage = Stage::decoding;
}

void Scheduler::end(Sequence& sequence) {
  outputs_outstanding_ -= sequence.outputs_remaining();
  if (sequence.stage == Stage::waiting) {
    queue_.remove(sequence);
  } else {
    residents_.remove(sequence);
  }
  const contract::RequestId id = sequence.id;
  sequences_.erase(id);
}

contract::Bounds Scheduler::bounds() const {
  contract::Bounds bounds;
  bounds.waiting_requests = queue_.request_count();
  bounds.waiting_tokens = queue_.tokens();
  for (const Sequence* resident : residents_.all()) {
    if (resident->stage == Stage::decoding) {
      ++bounds.decoding_requests;
    } else {
      ++bounds.prefilling_requests;
      bounds.waiting_tokens += base::Tokens(resident->tokens_unevaluated());
    }
  }
  bounds.pages_used = residents_.pages().used_count();
  bounds.pages_free = residents_.pages().free_count();
  bounds.preemptions = preemptions_;
  estimate(bounds);
  return bounds;
}

// Both bounds are in steps of the longest kind that the present load allows, times what such a step takes; they leave
// out preemptions and requests yet to come.
void Scheduler::estimate(contract::Bounds& bounds) const {
  const int64_t prompt_tokens = bounds.waiting_tokens.count();
  const uint32_t prompts = bounds.waiting_requests + bounds.prefilling_requests;
  // Beside the last prompt to be evaluated, all others may decode.
  const uint32_t others = bounds.decoding_requests + (prompts > 0 ? prompts - 1 : 0);
  const uint32_t rows = std::min(others, prompts > 0 ? capacity_.rows_max - 1 : capacity_.rows_max);
  const int64_t budget = prefill_budget(capacity_, rows);
  const base::Micros step_us_max = estimator_.predict_max(static_cast<uint32_t>(std::min(prompt_tokens, budget)), rows);
  // A decoding request gets a row in every step, so its longest gap is the longest step.
  if (bounds.decoding_requests > 0) bounds.gap_max = step_us_max;
  if (prompt_tokens == 0) return;
  // While a prompt waits, each step evaluates a whole chunk of prompts or, where no row is free for them, one token for
  // every row: so the steps until the last prompt is evaluated are at most the sum of both.
  int64_t steps = (prompt_tokens + budget - 1) / budget;
  if (bounds.waiting_requests + residents_.count() > capacity_.rows_max) {
    steps += outputs_outstanding_ / capacity_.rows_max + 1;
  }
  const int64_t steps_max = std::numeric_limits<int64_t>::max() / std::max<int64_t>(step_us_max.count(), 1);
  bounds.prompt_wait_max = base::Micros(std::min(steps, steps_max) * step_us_max.count());
}

}  // namespace takt::scheduler
