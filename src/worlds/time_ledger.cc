#include "worlds/time_ledger.h"

#include <algorithm>
#include <utility>

namespace takt::worlds {

using contract::TimePart;
using contract::TimeParts;

void TimeLedger::submit(contract::RequestId id, base::Micros now) {
  Entry& entry = entries_[id];
  entry.accounted_until = now;
  entry.kv_short_before = kv_short_until(now);
}

base::Micros TimeLedger::kv_short_until(base::Micros now) const {
  return is_kv_short_ ? kv_short_ + (now - kv_marked_) : kv_short_;
}

// Accounts for the time since the request was in a step, or since it came.
void TimeLedger::close_gap(Entry& entry, base::Micros now) {
  const base::Micros gap = now - entry.accounted_until;
  const base::Micros kv_short = kv_short_until(now);
  if (entry.stage == Stage::preempted) {
    entry.parts[TimePart::preemption] += gap;
  } else if (entry.stage == Stage::resident && entry.last_step == ended_step_) {
    entry.parts[TimePart::host] += gap;  // nothing ran in between
  } else {
    const base::Micros short_of_pages = std::min(gap, kv_short - entry.kv_short_before);
    entry.parts[TimePart::kv_wait] += short_of_pages;
    entry.parts[TimePart::queue] += gap - short_of_pages;
  }
  entry.accounted_until = now;
  entry.kv_short_before = kv_short;
}

void TimeLedger::enter(Share share, uint32_t begin, uint32_t end, base::Micros now) {
  if (const auto found = entries_.find(share.request); found != entries_.end()) {
    Entry& entry = found->second;
    close_gap(entry, now);
    entry.stage = Stage::resident;
    if (share.is_chunk()) share.again_tokens = std::min(end, std::max(entry.evaluated_max, begin)) - begin;
    entry.evaluated_max = std::max(entry.evaluated_max, end);
  }
  shape_.add(share.shape);
  shares_.push_back(share);
}

int64_t TimeLedger::estimate(const contract::SchedulerPort& scheduler, const contract::StepShape& shape) const {
  if (is_measured_) return scheduler.predict(shape).count();
  return int64_t{shape.prefill_tokens} + shape.decode_rows;
}

void TimeLedger::begin_step(const contract::StepPlan& plan, const contract::SchedulerPort& scheduler,
                            base::Micros now) {
  kv_short_ = kv_short_until(now);
  kv_marked_ = now;
  is_kv_short_ = scheduler.is_short_of_pages();
  for (const contract::RequestId id : plan.preempted) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    close_gap(found->second, now);
    found->second.stage = Stage::preempted;
  }
  shares_.clear();
  shape_ = {};
  record_ = {};
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    Share share{chunk.request};
    share.shape.add(chunk);
    enter(share, chunk.begin, chunk.end, now);
    record_.prefill_chunks.push_back({chunk.request, chunk.begin, chunk.end - chunk.begin});
  }
  chunk_count_ = shares_.size();
  decode_shape_ = {};
  for (const contract::DecodeRow& row : plan.decode_rows) {
    Share share{row.request};
    share.shape.add(row);
    enter(share, row.position, row.position + 1, now);
    decode_shape_.add(row);
    record_.decode_rows.push_back(row.request);
  }
  record_.step = plan.step;
  record_.begin = now;
  record_.preempted = plan.preempted;
  record_.is_short_of_pages = is_kv_short_;
  record_.decode_positions = decode_shape_.decode_positions;
  estimate_shares(scheduler);
}

void TimeLedger::estimate_shares(const contract::SchedulerPort& scheduler) {
  record_.expected = scheduler.predict(shape_);
  is_measured_ = record_.expected.count() > 0;
  whole_ = estimate(scheduler, shape_);
  if (shares_.size() == 1) return;  // nothing to divide
  const auto shorter_without = [&](const contract::StepShape& part) {
    return std::max<int64_t>(0, whole_ - estimate(scheduler, shape_.without(part)));
  };
  for (Share& share : shares_) {
    share.alone = estimate(scheduler, share.shape);
    if (share.is_chunk()) share.without = shorter_without(share.shape);
    const contract::StepShape others = share.is_chunk() ? decode_shape_ : decode_shape_.without(share.shape);
    if (others.decode_rows > 0 && chunk_count_ > 0) share.without_decode = shorter_without(others);
  }
}

void TimeLedger::end_step(const contract::StepResult& result, base::Micros sampling, base::Micros now) {
  record_.end = now;
  ended_step_ = record_.step;
  record_.sampling = sampling;
  const base::Micros whole = now - record_.begin;
  const base::Micros computing = std::min(result.duration, whole);
  const base::Micros sampled = std::min(sampling, computing);
  for (const contract::RowResult& row : result.rows) record_.output_tokens += row.tokens_accepted;
  for (const Share& share : shares_) {
    const auto found = entries_.find(share.request);
    if (found == entries_.end()) continue;  // it ended meanwhile
    Entry& entry = found->second;
    entry.parts[TimePart::sampling] += sampled;
    entry.parts[TimePart::host] += whole - computing;
    account_step(share, (computing - sampled).count(), entry);
    entry.accounted_until = now;
    entry.kv_short_before = kv_short_until(now);
    entry.last_step = record_.step;
  }
}

void TimeLedger::account_step(const Share& share, int64_t compute_us, Entry& entry) const {
  int64_t own = compute_us;
  if (shares_.size() > 1 && whole_ > 0) {
    own = static_cast<int64_t>(static_cast<__int128>(compute_us) * share.alone / whole_);
    own = std::min(own, compute_us);
  }
  if (own < compute_us) account_others(share, compute_us - own, entry.parts);
  const int64_t again =
      share.again_tokens == 0
          ? 0
          : contract::divide_exactly(own, {share.again_tokens, share.shape.prefill_tokens - share.again_tokens})[0];
  entry.parts[TimePart::recompute] += base::Micros(again);
  entry.parts[TimePart::own_compute] += base::Micros(own - again);
}

// Between the decode rows of others together and each other chunk.
void TimeLedger::account_others(const Share& share, int64_t others_us, TimeParts& parts) const {
  const uint32_t other_rows = decode_shape_.decode_rows - share.shape.decode_rows;
  if (chunk_count_ == 0 || (chunk_count_ == 1 && share.is_chunk())) {
    parts[TimePart::other_decode] += base::Micros(others_us);
    return;
  }
  std::vector<int64_t> weights{other_rows > 0 ? share.without_decode : 0};
  std::vector<int64_t> rows{other_rows};
  for (size_t i = 0; i < chunk_count_; ++i) {
    const bool is_other = &shares_[i] != &share;
    weights.push_back(is_other ? shares_[i].without : 0);
    rows.push_back(is_other ? shares_[i].shape.prefill_tokens : 0);
  }
  // Where no estimate tells them apart, their rows do.
  const bool is_known = std::any_of(weights.begin(), weights.end(), [](int64_t weight) { return weight > 0; });
  const std::vector<int64_t> divided = contract::divide_exactly(others_us, is_known ? weights : rows);
  parts[TimePart::other_decode] += base::Micros(divided[0]);
  for (size_t i = 0; i < chunk_count_; ++i) {
    if (&shares_[i] == &share) continue;
    const base::Micros part(divided[i + 1]);
    parts[TimePart::other_prefill] += part;
    parts.add_cause(shares_[i].request, part, shares_[i].shape.prefill_tokens);
  }
}

TimeParts TimeLedger::take(contract::RequestId id, base::Micros now) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  close_gap(found->second, now);
  return std::exchange(found->second.parts, {});
}

}  // namespace takt::worlds
