#include "worlds/replay.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "worlds/call_text.h"
#include "worlds/recording_lines.h"

namespace takt::worlds {
namespace {

base::Error invalid(std::string message) { return {base::ErrorCode::invalid_file, std::move(message)}; }

class Replayer {
 public:
  explicit Replayer(std::unique_ptr<contract::SchedulerPort> scheduler) : scheduler_(std::move(scheduler)) {}

  // Makes the call. Returns its answer, nothing if it has none. Errors: invalid_file for a call that no world would
  // make now.
  base::Result<std::optional<std::string>> make(const Call& call) {
    switch (call.kind) {
      case Call::Kind::submit: return std::optional(submit(call));
      case Call::Kind::cancel:
        ++report.cancels;
        scheduler_->cancel(call.request.id, call.now);
        return std::optional<std::string>();
      case Call::Kind::next:
        if (plan_.has_work()) return invalid("next, but the step before was not absorbed");
        plan_ = scheduler_->next(call.now);
        report.steps += plan_.has_work() ? 1 : 0;
        return std::optional(to_text(plan_));
      case Call::Kind::absorb: {
        if (base::Status status = check_result(call.result); !status.ok()) return status.error();
        plan_ = {};
        scheduler_->absorb(call.result, call.now);
        return std::optional<std::string>();
      }
      case Call::Kind::bounds: return std::optional(to_text_counts(scheduler_->bounds()));
      case Call::Kind::times: return std::optional(to_text_times(scheduler_->bounds()));
      case Call::Kind::cache: return std::optional(to_text_cache(scheduler_->bounds()));
    }
    return invalid("unknown call");
  }

  ReplayReport report;

 private:
  std::string submit(const Call& call) {
    ++report.submits;
    const contract::Admission admission = scheduler_->submit(call.request, call.now);
    if (admission.is_accepted) {
      outputs_left_[call.request.id] = static_cast<uint64_t>(admission.output_tokens_max.count());
    }
    return to_text(admission);
  }

  // The scheduler trusts its engine; a file is not to be trusted.
  base::Status check_result(const contract::StepResult& result) {
    if (!plan_.has_work()) return invalid("absorb, but no step is running");
    if (result.step != plan_.step) return invalid("absorb of a step that is not running");
    if (result.rows.size() != plan_.prefill_chunks.size() + plan_.decode_rows.size()) {
      return invalid("absorb: not as many rows as the plan has");
    }
    using enum contract::Phase;
    size_t i = 0;
    base::Status status;
    for (const contract::PrefillChunk& chunk : plan_.prefill_chunks) {
      if (status.ok()) status = check_row(result.rows[i++], chunk.request, prefill, chunk.is_last, 1);
    }
    for (const contract::DecodeRow& row : plan_.decode_rows) {
      if (status.ok()) status = check_row(result.rows[i++], row.request, decode, true, 1 + row.draft_tokens.size());
    }
    return status;
  }

  base::Status check_row(const contract::RowResult& row, contract::RequestId id, contract::Phase phase,
                         bool yields_tokens, uint64_t tokens_max) {
    if (row.request != id || row.phase != phase) return invalid("absorb: a row is not the plan's");
    uint64_t& outputs_left = outputs_left_[id];
    const bool goes_on = row.finish == contract::FinishReason::none;
    const uint64_t tokens = row.tokens_accepted;
    const bool is_possible = yields_tokens ? tokens <= std::min(tokens_max, outputs_left) &&
                                                 (!goes_on || (tokens > 0 && tokens < outputs_left))
                                           : tokens == 0;
    if (!is_possible) {
      return invalid("absorb: request " + std::to_string(id.value) + " cannot have got " + std::to_string(tokens) +
                     " tokens here");
    }
    outputs_left -= tokens;
    return {};
  }

  std::unique_ptr<contract::SchedulerPort> scheduler_;
  contract::StepPlan plan_;  // the running step's; without work when none runs
  std::map<contract::RequestId, uint64_t> outputs_left_;
};

}  // namespace

base::Result<ReplayReport> replay(std::istream& in, const SchedulerFactory& make_scheduler) {
  RecordingLines lines(in);
  const auto head = read_recording_head(lines);
  if (!head.ok()) return head.error();
  auto scheduler = make_scheduler(head->capacity, head->policy);
  if (!scheduler.ok()) return scheduler.error();
  Replayer replayer(std::move(scheduler.value()));
  while (lines.try_next()) {
    const base::Result<Call> call = parse_call(lines.text());
    if (!call.ok()) return lines.error(call.error().message);
    const base::Result<std::optional<std::string>> answer = replayer.make(*call);
    if (!answer.ok()) return lines.error(answer.error().message);
    if (!answer->has_value()) continue;
    if (!lines.try_next()) break;
    const std::string recorded = lines.text();
    if (!recorded.starts_with("= ")) return lines.error("an answer ('= …') expected");
    if (recorded.substr(2) != **answer) {
      replayer.report.first_difference = ReplayReport::Difference{lines.number(), recorded.substr(2), **answer};
      break;
    }
    ++replayer.report.answers_equal;
  }
  return std::move(replayer.report);
}

}  // namespace takt::worlds
