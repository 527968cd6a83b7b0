#include "worlds/sim/recorded_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "worlds/call_text.h"
#include "worlds/plan_text.h"
#include "worlds/recording_lines.h"

namespace takt::worlds {
namespace {

class RunReader {
 public:
  explicit RunReader(RecordingLines& lines) : lines_(lines) {}

  base::Result<RecordedRun> read() {
    const base::Result<RecordingHead> head = read_recording_head(lines_);
    if (!head.ok()) return head.error();
    run_.capacity = head->capacity;
    run_.policy = head->policy;
    while (lines_.try_next()) {
      const base::Result<Call> call = parse_call(lines_.text());
      if (!call.ok()) return lines_.error(call.error().message);
      if (call->now < now_ && has_time(*call)) return lines_.error("the time is before that of the call above");
      if (has_time(*call)) now_ = call->now;
      const base::Result<bool> taken = take(*call);
      if (!taken.ok()) return taken.error();
      if (!*taken) break;  // cut off before its answer
    }
    return std::move(run_);
  }

 private:
  static bool has_time(const Call& call) { return call.kind != Call::Kind::bounds && call.kind != Call::Kind::times; }

  // False where the recording ends between a call and its answer.
  base::Result<bool> take(const Call& call) {
    switch (call.kind) {
      case Call::Kind::submit: return take_submit(call);
      case Call::Kind::next: return take_next(call);
      case Call::Kind::cancel: take_cancel(call); return true;
      case Call::Kind::absorb: return take_absorb(call);
      case Call::Kind::cache:
      case Call::Kind::bounds:
      case Call::Kind::times: return try_answer();
    }
    return true;
  }

  base::Result<bool> try_answer() {
    if (!lines_.try_next()) return false;
    if (!lines_.text().starts_with("= ")) return lines_.error("an answer ('= …') expected");
    answer_ = lines_.text().substr(2);
    return true;
  }

  base::Result<bool> take_submit(const Call& call) {
    base::Result<bool> answered = try_answer();
    if (!answered.ok() || !*answered) return answered;
    const bool is_accepted = answer_.starts_with("accepted ");
    if (!is_accepted && !answer_.starts_with("refused ")) return lines_.error("'accepted' or 'refused' expected");
    RequestRecord record;
    record.id = call.request.id;
    record.arrival.at = call.now;
    record.arrival.prompt = call.request.prompt;
    record.arrival.prompt_tokens = static_cast<uint32_t>(std::max<size_t>(call.request.prompt->size(), 1));
    record.arrival.output_tokens_max =
        static_cast<uint32_t>(std::clamp<int64_t>(call.request.output_tokens_max.count(), 0, int64_t{1} << 30));
    record.arrival.service_class = call.request.service_class;
    record.is_refused = !is_accepted;
    if (is_accepted && !live_.emplace(record.id, run_.records.size()).second) {
      return lines_.error("request " + std::to_string(record.id.value) + " is accepted twice");
    }
    if (!is_accepted) record.finished = call.now;
    run_.records.push_back(std::move(record));
    return true;
  }

  base::Result<bool> take_next(const Call& call) {
    base::Result<bool> answered = try_answer();
    if (!answered.ok() || !*answered) return answered;
    auto plan = parse_plan_work(answer_);
    if (!plan.ok()) return lines_.error(plan.error().message);
    if (plan_.has_work()) return lines_.error("next, but the step before was not absorbed");
    plan_ = std::move(*plan);
    if (plan_.has_work() && is_busy_) {
      RecordedStep& before = run_.steps.back();
      before.host = call.now - before.planned - before.result.duration;
    }
    is_busy_ = plan_.has_work();
    planned_ = call.now;
    run_.preemptions += plan_.preempted.size();
    for (const contract::PrefillChunk& chunk : plan_.prefill_chunks) {
      const auto found = live_.find(chunk.request);
      if (found == live_.end()) return unknown(chunk.request);
      RequestRecord& record = run_.records[found->second];
      if (record.first_scheduled) continue;
      record.first_scheduled = call.now;
      record.prompt_tokens_cached = chunk.begin;
    }
    for (const contract::DecodeRow& row : plan_.decode_rows) {
      if (!live_.contains(row.request)) return unknown(row.request);
    }
    return true;
  }

  void take_cancel(const Call& call) {
    const auto found = live_.find(call.request.id);
    if (found == live_.end()) return;
    RequestRecord& record = run_.records[found->second];
    if (record.finished) return;
    record.finish = contract::FinishReason::cancelled;
    record.finished = call.now;
    record.arrival.cancel_after = call.now - record.arrival.at;
  }

  base::Result<bool> take_absorb(const Call& call) {
    if (!plan_.has_work()) return lines_.error("absorb, but no step is running");
    if (call.result.step != plan_.step) return lines_.error("absorb of a step that is not running");
    if (call.now - planned_ < call.result.duration) return lines_.error("the step is longer than the time it had");
    if (call.result.rows.size() != plan_.prefill_chunks.size() + plan_.decode_rows.size()) {
      return lines_.error("not as many rows as the plan has");
    }
    for (size_t i = 0; i < call.result.rows.size(); ++i) {
      const contract::RowResult& row = call.result.rows[i];
      const size_t chunks = plan_.prefill_chunks.size();
      const size_t tokens_max = 1 + (i < chunks ? 0 : plan_.decode_rows[i - chunks].draft_tokens.size());
      if (row.tokens_accepted > tokens_max) return lines_.error("more tokens than the row can yield");
      const auto found = live_.find(row.request);
      if (found == live_.end()) return unknown(row.request);
      RequestRecord& record = run_.records[found->second];
      if (!record.finished) record.note_tokens(row.tokens_accepted, call.now);
      if (row.finish == contract::FinishReason::none && !record.finished) continue;
      if (!record.finished) {
        record.finish = row.finish;
        record.finished = call.now;
      }
      live_.erase(found);
    }
    run_.steps.push_back({std::move(plan_), call.result, planned_, call.now, std::nullopt});
    plan_ = {};
    return true;
  }

  base::Error unknown(contract::RequestId id) const {
    return lines_.error("request " + std::to_string(id.value) + " is not alive");
  }

  RecordingLines& lines_;
  RecordedRun run_;
  std::string answer_;
  std::unordered_map<contract::RequestId, size_t> live_;  // index in records
  contract::StepPlan plan_;                               // the running step's
  base::Micros planned_;
  base::Micros now_;
  bool is_busy_ = false;  // the last next() had work, so there is a last step
};

}  // namespace

base::Result<RecordedRun> read_recorded_run(std::istream& in) {
  RecordingLines lines(in);
  return RunReader(lines).read();
}

std::vector<Arrival> arrivals_of(const RecordedRun& run) {
  std::vector<Arrival> arrivals;
  arrivals.reserve(run.records.size());
  for (const RequestRecord& record : run.records) {
    Arrival arrival = record.arrival;
    // What was cut short shows only what it came to: a hang-up is repeated by its time, an answer no shorter than
    // before.
    const bool is_whole =
        record.finish == contract::FinishReason::stop || record.finish == contract::FinishReason::length;
    arrival.output_tokens =
        std::max(is_whole || !record.finished ? record.output_tokens : arrival.output_tokens_max, 1u);
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

std::vector<cost::StepSample> samples_of(const RecordedRun& run) {
  std::vector<cost::StepSample> samples;
  samples.reserve(run.steps.size());
  for (const RecordedStep& step : run.steps) {
    samples.push_back({cost::count_features(step.plan), step.result.duration, step.host});
  }
  return samples;
}

}  // namespace takt::worlds
