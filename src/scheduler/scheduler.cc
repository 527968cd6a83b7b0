#include "scheduler/scheduler.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "scheduler/admission.h"
#include "scheduler/decode/decode_rows.h"
#include "scheduler/prefill/prefill_chunks.h"
#include "scheduler/prefill/start_gate.h"

namespace takt::scheduler {

base::Result<std::unique_ptr<contract::SchedulerPort>> make_scheduler(const contract::Capacity& capacity,
                                                                      const contract::ServicePolicy& policy) {
  if (base::Status status = check(capacity); !status.ok()) return status.error();
  if (base::Status status = check(policy, capacity); !status.ok()) return status.error();
  return std::unique_ptr<contract::SchedulerPort>(std::make_unique<Scheduler>(capacity, policy));
}

Scheduler::Scheduler(const contract::Capacity& capacity, const contract::ServicePolicy& policy)
    : capacity_(capacity), policy_(policy), residents_(capacity_, policy_, estimator_, queue_) {
  assert(check(capacity).ok() && check(policy, capacity).ok());
}

Forecast Scheduler::forecast() const {
  return Forecast(capacity_, policy_, estimator_, queue_, residents_, outputs_outstanding_);
}

contract::Admission Scheduler::submit(const contract::Request& request, base::Micros now) {
  if (sequences_.contains(request.id)) {
    contract::Admission admission;
    admission.refusal = base::ErrorCode::invalid_argument;
    admission.reason = "request " + std::to_string(request.id.value) + " is already here";
    return admission;
  }
  contract::Admission admission = decide_admission(request, capacity_, queue_.request_count(), queue_.tokens());
  const Forecast forecast = this->forecast();
  if (!admission.is_accepted) {
    // By then half of what waits is evaluated, if nothing else comes.
    if (admission.refusal == base::ErrorCode::queue_full)
      admission.retry_after = forecast.time_for(base::Tokens(queue_.tokens().count() / 2));
    return admission;
  }
  Sequence sequence;
  sequence.id = request.id;
  sequence.submitted = now;
  sequence.service_class = request.service_class;
  sequence.tenant = request.tenant;
  sequence.prompt = request.prompt;
  sequence.prompt_tokens = static_cast<uint32_t>(request.prompt->size());
  sequence.output_tokens_max = static_cast<uint32_t>(admission.output_tokens_max.count());
  sequence.reads_prefix_cache = request.reads_prefix_cache;
  sequence.tokens_cached_at_submit = residents_.cached_tokens(sequence);
  sequence.prefill_us = forecast.prefill_alone(sequence.prompt_tokens - sequence.tokens_cached_at_submit);
  sequence.rank = Rank{ranking_.due(request, now, sequence.prefill_us), ++arrivals_};
  sequence.is_in_backlog = true;
  admission.due = sequence.rank.due;
  if (forecast.is_ready()) {
    admission.predicted_ttft = forecast.ttft(sequence);
    admission.predicted_finish = *admission.predicted_ttft + forecast.decode(sequence);
    refuse_if_late(policy_, sequence.service_class, admission);
  }
  if (!admission.is_accepted) {
    leave_backlog(sequence);
    return admission;
  }
  outputs_outstanding_ += sequence.outputs_remaining();
  queue_.add(sequences_[request.id] = std::move(sequence));
  return admission;
}

// From its first start, or its end: a request that was preempted has had its turn.
void Scheduler::leave_backlog(Sequence& sequence) {
  if (!sequence.is_in_backlog) return;
  sequence.is_in_backlog = false;
  ranking_.forget(sequence.tenant, sequence.service_class, sequence.prefill_us);
}

void Scheduler::cancel(contract::RequestId id, base::Micros /*now*/) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  if (found->second.is_in_step) {
    found->second.is_cancelled = true;  // the running step still writes to its pages
  } else {
    end(found->second, /*is_kept=*/true);
  }
}

contract::StepPlan Scheduler::next(base::Micros now) {
  assert(rows_in_step_.empty() && "the previous step was not absorbed");
  if (absorbed_) estimator_.learn_between(now - *absorbed_);
  absorbed_.reset();
  contract::StepPlan plan;
  const std::optional<contract::ServiceClass> first_class = first_class_with_work();
  if (!first_class) return plan;
  const StepBudget budget = plan_step(*first_class, now, plan);
  assert(plan.has_work());  // whoever ranks first always finds room: see Residents
  begin_step(plan, budget);
  return plan;
}

// The best class that decodes, prefills or waits.
std::optional<contract::ServiceClass> Scheduler::first_class_with_work() const {
  std::optional<contract::ServiceClass> first;
  const auto note = [&](contract::ServiceClass service_class) {
    first = first ? std::min(*first, service_class) : service_class;
  };
  for (const Sequence* resident : residents_.all()) note(resident->service_class);
  for (contract::ServiceClass service_class : contract::kServiceClasses)
    if (!queue_.of(service_class).empty()) note(service_class);
  return first;
}

// The rows of the best class that has work are in every step and set its time; prompts get what is left of it, in rank order;
// then the decode rows of other classes.
StepBudget Scheduler::plan_step(contract::ServiceClass first_class, base::Micros now, contract::StepPlan& plan) {
  residents_.begin_step(now);
  StepBudget budget(estimator_, capacity_);
  // A fixed chunk is one beside all decode rows: none of them is left for later.
  const bool is_chunk_fixed = capacity_.chunk_tokens_beside_decode > 0;
  const DecodeTurns decode(residents_, is_chunk_fixed ? contract::ServiceClass::background : first_class, policy_, now);
  const bool has_limit = decode.plan_required(residents_, budget, plan);
  limit_step(first_class, has_limit, budget);
  const StartGate gate(residents_, capacity_, policy_, estimator_, now);
  PrefillTurns(queue_, residents_, gate, first_class, now).plan(budget, plan);
  decode.plan_optional(residents_, budget, plan);
  return budget;
}

// Where no row of the step has a limit, prompts of the best class may make it as long as is efficient. Those of a class behind
// the rows that decode may not.
void Scheduler::limit_step(contract::ServiceClass first_class, bool has_limit, StepBudget& budget) const {
  if (has_limit) return;
  const bool has_prompt = !queue_.of(first_class).empty() ||
                          std::any_of(residents_.all().begin(), residents_.all().end(), [&](const Sequence* resident) {
                            return resident->service_class == first_class && resident->stage == Stage::prefilling;
                          });
  if (budget.shape().decode_rows > 0 && has_prompt) {
    budget.limit_to_efficient();
  } else {
    budget.limit_to(policy_.step_us_max);
  }
}

void Scheduler::begin_step(contract::StepPlan& plan, const StepBudget& budget) {
  plan.step = ++step_;
  kept_.preemptions += plan.preempted.size();
  shape_in_step_ = {};
  const auto enter = [&](contract::RequestId id, RowInStep row) {
    row.sequence = &sequences_.at(id);
    row.sequence->is_in_step = true;
    leave_backlog(*row.sequence);
    rows_in_step_.push_back(row);
  };
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    shape_in_step_.add_prefill(chunk.begin, chunk.end, chunk.is_last);
    enter(chunk.request, {nullptr, contract::Phase::prefill, chunk.end, chunk.is_last});
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    shape_in_step_.add_decode(row.position);
    enter(row.request, {nullptr, contract::Phase::decode, row.position + 1, /*yields_tokens=*/true});
  }
  bound_in_step_ = {};
  if (!estimator_.is_ready()) return;
  bound_in_step_ = estimator_.predict_high(shape_in_step_);
  if (budget.step_us_max()) bound_in_step_ = std::max(bound_in_step_, *budget.step_us_max());
  if (plan.prefill_chunks.empty() || plan.decode_rows.empty()) return;
  kept_.step_us_target = budget.step_us_max().value_or(base::Micros(0));
  kept_.chunk_tokens = shape_in_step_.prefill_tokens;
}

void Scheduler::absorb(const contract::StepResult& result, base::Micros now) {
  assert(result.step == step_ && result.rows.size() == rows_in_step_.size() && "not the result of the running step");
  residents_.end_step();
  note_step(result, now);
  for (size_t i = 0; i < rows_in_step_.size(); ++i) absorb_row(rows_in_step_[i], result.rows[i], now);
  rows_in_step_.clear();
  if (!sequences_.empty()) absorbed_ = now;
}

void Scheduler::note_step(const contract::StepResult& result, base::Micros now) {
  if (bound_in_step_.count() > 0 && result.duration > bound_in_step_) {
    ++kept_.bound_violations;
    kept_.last_violation = contract::BoundViolation{result.step,
                                                    now,
                                                    bound_in_step_,
                                                    estimator_.predict(shape_in_step_),
                                                    result.duration,
                                                    shape_in_step_.prefill_tokens,
                                                    shape_in_step_.decode_rows};
  }
  estimator_.learn(shape_in_step_, result.duration);
}

void Scheduler::absorb_row(const RowInStep& row, const contract::RowResult& result, base::Micros now) {
  Sequence& sequence = *row.sequence;
  assert(result.request == sequence.id && result.phase == row.phase);
  sequence.is_in_step = false;
  if (result.tokens_accepted > 0) note_token(sequence, now);
  sequence.tokens_evaluated = row.tokens_evaluated;
  sequence.add_outputs(result);
  if (sequence.is_cancelled || result.finish != contract::FinishReason::none) {
    end(sequence, result.finish != contract::FinishReason::error);
    return;
  }
  residents_.publish(sequence);
  if (!row.yields_tokens) {
    assert(result.tokens_accepted == 0);
    return;
  }
  // The engine ends a request at its limit, so one that goes on has got a token and may get another.
  assert(result.tokens_accepted >= 1 && result.tokens_accepted < sequence.outputs_remaining());
  sequence.tokens_produced += result.tokens_accepted;
  outputs_outstanding_ -= result.tokens_accepted;
  sequence.tokens_evaluated = sequence.length() - 1;  // all but the newest
  sequence.stage = Stage::decoding;
}

void Scheduler::note_token(Sequence& sequence, base::Micros now) {
  contract::ClassAttainment& attainment = kept_.attainment[static_cast<size_t>(sequence.service_class)];
  const contract::ClassLimits& limits = policy_.of(sequence.service_class);
  if (sequence.tokens_produced == 0) {
    const base::Micros ttft = now - sequence.submitted;
    ++attainment.first_tokens;
    if (limits.ttft_max && ttft > *limits.ttft_max) ++attainment.first_tokens_late;
  } else {
    ++attainment.gaps;
    if (limits.itl_max && now - sequence.last_token > *limits.itl_max) ++attainment.gaps_late;
  }
  sequence.last_token = now;
}

void Scheduler::end(Sequence& sequence, bool is_kept) {
  outputs_outstanding_ -= sequence.outputs_remaining();
  leave_backlog(sequence);
  if (sequence.stage == Stage::waiting) {
    queue_.remove(sequence);
  } else {
    residents_.remove(sequence, is_kept);
  }
  const contract::RequestId id = sequence.id;
  sequences_.erase(id);
}

bool Scheduler::is_short_of_pages() const {
  const Sequence* first = queue_.front();
  return first != nullptr && residents_.lacks_pages_for(*first);
}

contract::Bounds Scheduler::bounds() const {
  contract::Bounds bounds = kept_;
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
  residents_.count_pages(bounds);
  bounds.margin_thousandths = static_cast<uint32_t>(estimator_.margin() * 1000);
  const Forecast forecast = this->forecast();
  bounds.gap_max = forecast.gap_max();
  bounds.prompt_wait_max = forecast.prompt_wait_max();
  return bounds;
}

}  // namespace takt::scheduler
