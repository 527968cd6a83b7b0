#include "worlds/recorder.h"

#include "worlds/call_text.h"

namespace takt::worlds {

RecordingScheduler::RecordingScheduler(contract::SchedulerPort& inner, const contract::Capacity& capacity,
                                       const contract::ServicePolicy& policy, std::ostream& out)
    : inner_(inner), out_(out) {
  write(kRecordingHeader);
  write(to_text(capacity));
  write(to_text(policy));
}

contract::Admission RecordingScheduler::submit(const contract::Request& request, base::Micros now) {
  write(to_text_submit(request, now));
  contract::Admission admission = inner_.submit(request, now);
  write_answer(to_text(admission));
  return admission;
}

void RecordingScheduler::cancel(contract::RequestId id, base::Micros now) {
  write(to_text_cancel(id, now));
  inner_.cancel(id, now);
}

contract::StepPlan RecordingScheduler::next(base::Micros now) {
  write(to_text_next(now));
  contract::StepPlan plan = inner_.next(now);
  write_answer(to_text(plan));
  if (!plan.has_work()) out_.flush();  // idle: the time to let a reader see all of it
  return plan;
}

void RecordingScheduler::absorb(const contract::StepResult& result, base::Micros now) {
  write(to_text_absorb(result, now));
  inner_.absorb(result, now);
}

void RecordingScheduler::write(std::string_view line) { out_ << line << '\n'; }

void RecordingScheduler::write_answer(std::string_view line) { out_ << "= " << line << '\n'; }

}  // namespace takt::worlds
