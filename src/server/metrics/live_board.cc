#include "server/metrics/live_board.h"

#include <algorithm>
#include <cmath>

namespace takt::server {

using contract::FinishReason;

namespace {

// A copy for a summary: all but the gaps.
RequestTrace without_outputs(const RequestTrace& trace) {
  RequestTrace copy;
  copy.facts = trace.facts;
  copy.times = trace.times;
  copy.state = trace.state;
  copy.finish = trace.finish;
  copy.prompt_tokens_done = trace.prompt_tokens_done;
  copy.gap_max = trace.gap_max;
  copy.delivered_last = trace.delivered_last;
  copy.written_all = trace.written_all;
  copy.prefill_parts = trace.prefill_parts;
  copy.decode_parts = trace.decode_parts;
  copy.changed = trace.changed;
  return copy;
}

base::Micros overlap(const contract::StepRecord& step, base::Micros from, base::Micros to) {
  return std::max(base::Micros(0), std::min(step.end, to) - std::max(step.begin, from));
}

// More than a tick's worth: a reader that was away gets the newest.
constexpr size_t kStepsATickMax = 512;
constexpr size_t kRequestsATickMax = 512;

}  // namespace

Quantiles quantiles_of(std::vector<int64_t> samples) {
  Quantiles quantiles;
  quantiles.count = samples.size();
  if (samples.empty()) return quantiles;
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return base::Micros(samples[std::max<size_t>(rank, 1) - 1]);
  };
  quantiles.p50 = at(0.50);
  quantiles.p95 = at(0.95);
  quantiles.p99 = at(0.99);
  return quantiles;
}

void LiveBoard::set_policy(const contract::ServicePolicy& policy) {
  const std::lock_guard lock(mutex_);
  policy_ = policy;
}

RequestTrace& LiveBoard::trace(contract::RequestId id) {
  const auto [found, is_new] = traces_.try_emplace(id);
  found->second.facts.id = id;
  return found->second;
}

void LiveBoard::on_step(const contract::StepRecord& record) {
  const std::lock_guard lock(mutex_);
  for (const contract::StepRecord::Chunk& chunk : record.prefill_chunks) {
    RequestTrace& trace = this->trace(chunk.request);
    trace.prompt_tokens_done = chunk.begin + chunk.tokens;
    if (trace.state != RequestState::finished) trace.state = RequestState::prefilling;
    totals_.prompt_tokens += chunk.tokens;
    touch(trace);
  }
  for (const contract::RequestId id : record.preempted) {
    RequestTrace& trace = this->trace(id);
    if (trace.state != RequestState::finished) trace.state = RequestState::preempted;
    touch(trace);
  }
  totals_.output_tokens += record.output_tokens;
  ++totals_.steps;
  if (!record.prefill_chunks.empty() && !record.decode_rows.empty()) last_mixed_ = record;
  steps_.push_back(record);
  if (steps_.size() > kStepsKept) steps_.pop_front();
}

void LiveBoard::add(RequestFacts facts, base::Micros submitted, base::Tokens prompt_tokens) {
  const std::lock_guard lock(mutex_);
  RequestTrace& trace = this->trace(facts.id);
  trace.facts = std::move(facts);
  if (trace.times.submitted.count() == 0) trace.times.submitted = submitted;
  trace.times.prompt_tokens = prompt_tokens;
  ++totals_.requests;
  touch(trace);
  forget_old();
}

void LiveBoard::on_output(const contract::RequestOutput& output, const contract::RequestTimes& times) {
  std::unique_lock lock(mutex_);
  RequestTrace& trace = this->trace(output.request);
  const bool had_first = trace.times.first_token.has_value() && trace.times.output_tokens.count() > 0;
  const size_t kept = trace.outputs.size();
  trace.add_output(output, times);
  gaps_ += trace.outputs.size() - kept;
  const base::Micros now = trace.delivered_last;
  if (!output.tokens.empty() && had_first) add_sample(itl_, {now, times.since_last.total().count()});
  if (!output.tokens.empty() && !had_first) {
    add_sample(ttft_, {now, (*times.first_token - times.submitted).count()});
    totals_.cached_tokens += static_cast<uint64_t>(times.prompt_tokens_cached.count());
  }
  touch(trace);
  if (output.finish == FinishReason::none) return;
  ++ended_count_;
  judge(trace);
  // Most replies are written later: see on_closed(). Whoever went away before has no reply.
  std::optional<RequestTrace> ended;
  if (listener_ && trace.state == RequestState::finished) ended = without_outputs(trace);
  forget_old();
  lock.unlock();
  if (ended) listener_(*ended, now);
}

void LiveBoard::judge(const RequestTrace& trace) {
  if (trace.finish != FinishReason::stop && trace.finish != FinishReason::length) return;
  const contract::ClassLimits& limits = policy_.of(trace.facts.service_class);
  const base::Micros ttft = trace.times.first_token.value_or(*trace.times.finished) - trace.times.submitted;
  ended_.push_back({*trace.times.finished, trace.facts.service_class, limits.ttft_max && ttft > *limits.ttft_max,
                    limits.itl_max && trace.gap_max > *limits.itl_max});
  if (ended_.size() > kSamplesKept) ended_.pop_front();
}

void LiveBoard::forget_old() {
  for (auto it = traces_.begin(); it != traces_.end() && (ended_count_ > kRequestsKept || gaps_ > kGapsKept);) {
    if (it->second.finish == FinishReason::none) {
      ++it;
      continue;
    }
    gaps_ -= it->second.outputs.size();
    --ended_count_;
    it = traces_.erase(it);
  }
}

void LiveBoard::on_written(contract::RequestId id, uint64_t tokens, base::Micros now) {
  const std::lock_guard lock(mutex_);
  if (const auto found = traces_.find(id); found != traces_.end()) found->second.note_written(tokens, now);
}

void LiveBoard::on_closed(contract::RequestId id, base::Micros now) {
  std::optional<RequestTrace> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = traces_.find(id);
    if (found == traces_.end()) return;
    found->second.note_closed(now);
    touch(found->second);
    if (listener_ && found->second.state == RequestState::finished) ended = without_outputs(found->second);
  }
  if (ended) listener_(*ended, now);
}

void LiveBoard::add_sample(std::deque<Sample>& samples, Sample sample) {
  samples.push_back(sample);
  if (samples.size() > kSamplesKept) samples.pop_front();
}

Quantiles LiveBoard::window(const std::deque<Sample>& samples, base::Micros now) {
  std::vector<int64_t> us;
  for (auto it = samples.rbegin(); it != samples.rend() && it->at + kLatencyWindow > now; ++it) us.push_back(it->us);
  return quantiles_of(std::move(us));
}

// A step that reaches into the window counts with the part of it that is inside.
LiveRates LiveBoard::rates(base::Micros now) const {
  LiveRates rates;
  const base::Micros from = now - kRateWindow;
  const double window_s = static_cast<double>(kRateWindow.count()) / 1e6;
  for (auto it = steps_.rbegin(); it != steps_.rend() && it->end > from; ++it) {
    const base::Micros inside = overlap(*it, from, now);
    const base::Micros whole = it->end - it->begin;
    const double share =
        whole.count() > 0 ? static_cast<double>(inside.count()) / static_cast<double>(whole.count()) : 1;
    uint64_t prompt_tokens = 0;
    for (const contract::StepRecord::Chunk& chunk : it->prefill_chunks) prompt_tokens += chunk.tokens;
    rates.prompt_tokens_per_s += share * static_cast<double>(prompt_tokens) / window_s;
    rates.output_tokens_per_s += share * it->output_tokens / window_s;
    rates.steps_per_s += share / window_s;
    rates.busy += static_cast<double>(inside.count()) / static_cast<double>(kRateWindow.count());
    if (prompt_tokens > 0) {
      rates.prefill_time += whole;
      rates.prefill_rows += prompt_tokens + it->decode_rows.size();
    } else {
      rates.decode_time += whole;
      ++rates.decode_steps;
      rates.decode_positions += it->decode_positions;
    }
  }
  return rates;
}

LiveSnapshot LiveBoard::snapshot(LiveCursor& cursor, base::Micros now) const {
  const std::lock_guard lock(mutex_);
  LiveSnapshot out;
  out.rates = rates(now);
  out.totals = totals_;
  out.ttft = window(ttft_, now);
  out.itl = window(itl_, now);
  out.last_mixed = last_mixed_;
  for (auto it = ended_.rbegin(); it != ended_.rend() && it->at + kLatencyWindow > now; ++it) {
    ClassRecord& record = out.classes[static_cast<size_t>(it->service_class)];
    ++record.finished;
    record.kept += it->is_ttft_broken || it->is_itl_broken ? 0 : 1;
    record.ttft_broken += it->is_ttft_broken ? 1 : 0;
    record.itl_broken += it->is_itl_broken ? 1 : 0;
  }
  auto step = std::find_if(steps_.rbegin(), steps_.rend(), [&](const auto& record) {
                return record.step <= cursor.step;
              }).base();
  const auto newest = steps_.end() - static_cast<ptrdiff_t>(std::min(steps_.size(), kStepsATickMax));
  step = std::max(step, newest);
  if (!steps_.empty() && step != steps_.end()) out.steps_skipped = step->step - cursor.step - 1;
  out.steps.assign(step, steps_.end());
  if (!out.steps.empty()) cursor.step = out.steps.back().step;
  for (const auto& [id, trace] : traces_) {
    const bool is_waiting = trace.state == RequestState::waiting || trace.state == RequestState::preempted;
    if (is_waiting) ++out.waiting[static_cast<size_t>(trace.facts.service_class)];
    out.names[id] = trace.facts.public_id;
    if (trace.changed > cursor.changed && out.requests.size() < kRequestsATickMax)
      out.requests.push_back(without_outputs(trace));
  }
  cursor.changed = changes_;
  return out;
}

std::vector<RequestTrace> LiveBoard::recent() const {
  const std::lock_guard lock(mutex_);
  std::vector<RequestTrace> out;
  for (auto it = traces_.rbegin(); it != traces_.rend(); ++it) out.push_back(without_outputs(it->second));
  return out;
}

std::optional<RequestTrace> LiveBoard::find(std::string_view public_id) const {
  const std::lock_guard lock(mutex_);
  for (auto it = traces_.rbegin(); it != traces_.rend(); ++it)
    if (it->second.facts.public_id == public_id) return it->second;
  return std::nullopt;
}

std::optional<RequestTrace> LiveBoard::find(contract::RequestId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = traces_.find(id);
  return found == traces_.end() ? std::nullopt : std::optional(without_outputs(found->second));
}

std::string LiveBoard::public_id(contract::RequestId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = traces_.find(id);
  if (found == traces_.end() || found->second.facts.public_id.empty()) return "number " + std::to_string(id.value);
  return found->second.facts.public_id;
}

}  // namespace takt::server
