// Says where each request's time went, from its submission to its end, in both worlds.
//
// A request's time is tiled: every microsecond from submission on is in exactly one part, because each entry remembers up to
// when it is accounted for and only ever moves on from there. Outside of steps the part follows from what the request waited for.
// A step's time is divided by marginal cost, in the scheduler's own estimate of step times scaled to what the step took:
//   sampling   measured by the engine, of all rows
//   own        what the step would have taken with this request's rows alone
//   others     the rest, between the other decode rows together and each other prompt chunk, in proportion to what the step
//              would have been shorter without that one
// With one other the rest is its marginal cost. With several, their marginal costs one by one need not sum to their joint one
// (the rows of a product share the reading of its weights): the joint one is kept.
//
// Cost: about three estimates a row and step, some tens of nanoseconds each. Not thread-safe: the world's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/units.h"
#include "contract/scheduler_port.h"
#include "contract/step_plan.h"
#include "contract/step_record.h"
#include "contract/time_parts.h"

namespace takt::worlds {

class TimeLedger {
 public:
  void submit(contract::RequestId id, base::Micros now);
  // After Scheduler::next() gave the plan, when the engine starts it. `scheduler` is only asked for estimates.
  void begin_step(const contract::StepPlan& plan, const contract::SchedulerPort& scheduler, base::Micros now);
  // The step is over and was absorbed. `sampling`: as in StepCompletion.
  void end_step(const contract::StepResult& result, base::Micros sampling, base::Micros now);
  // Where the request's time went since the last call, or its submission. Zero for an unknown one.
  contract::TimeParts take(contract::RequestId id, base::Micros now);
  void forget(contract::RequestId id) { entries_.erase(id); }
  // The step that ended last.
  const contract::StepRecord& last_step() const { return record_; }

 private:
  enum class Stage : uint8_t { queued, resident, preempted };
  struct Entry {
    base::Micros accounted_until;
    base::Micros kv_short_before;  // kv_short_until(accounted_until)
    contract::TimeParts parts;     // not taken yet
    Stage stage = Stage::queued;
    uint64_t last_step = 0;
    uint32_t evaluated_max = 0;  // positions that were evaluated once
  };
  // A chunk or a decode row of the running step. Estimates are in microseconds, or in rows while nothing was measured.
  struct Share {
    contract::RequestId request;
    contract::StepShape shape = {};
    uint32_t again_tokens = 0;   // of a chunk: evaluated before, and lost
    int64_t alone = 0;           // a step with only this
    int64_t without = 0;         // of a chunk: how much shorter the step would be without it
    int64_t without_decode = 0;  // how much shorter it would be without the decode rows of others
    bool is_chunk() const { return shape.prefill_tokens > 0; }
  };
  void enter(Share share, uint32_t begin, uint32_t end, base::Micros now);
  void estimate_shares(const contract::SchedulerPort& scheduler);
  int64_t estimate(const contract::SchedulerPort& scheduler, const contract::StepShape& shape) const;
  void account_step(const Share& share, int64_t compute_us, Entry& entry) const;
  void account_others(const Share& share, int64_t others_us, contract::TimeParts& parts) const;
  void close_gap(Entry& entry, base::Micros now);
  base::Micros kv_short_until(base::Micros now) const;

  std::map<contract::RequestId, Entry> entries_;
  contract::StepRecord record_;
  uint64_t ended_step_ = 0;  // the newest that ended
  // The running step: its chunks, then its rows.
  std::vector<Share> shares_;
  size_t chunk_count_ = 0;
  contract::StepShape shape_;
  contract::StepShape decode_shape_;  // of its decode rows
  bool is_measured_ = false;          // the scheduler has estimates
  int64_t whole_ = 0;                 // estimate of the whole step
  // How long KV pages were short: up to `kv_marked_`, and from then on as `is_kv_short_` says.
  base::Micros kv_short_, kv_marked_;
  bool is_kv_short_ = false;
};

}  // namespace takt::worlds
