// Writes down everything that a scheduler is told and everything that it answers.
#pragma once

#include <ostream>
#include <string_view>

#include "contract/model_shape.h"
#include "contract/scheduler_port.h"

namespace takt::worlds {

// Stands in front of a scheduler in either world: run_loop(recorder, world), with the world submitting to the recorder
// too. Not thread-safe, as every scheduler: the world's lock guards it. Whoever owns the stream checks it for errors.
//
// Cost: the line of each call, mostly the prompts (about 6 bytes a token), written at the end of each step.
class RecordingScheduler final : public contract::SchedulerPort {
 public:
  // `inner` is fresh and made with `capacity` and `policy`; it and `out` outlive this object.
  RecordingScheduler(contract::SchedulerPort& inner, const contract::Capacity& capacity,
                     const contract::ServicePolicy& policy, std::ostream& out);

  contract::Admission submit(const contract::Request& request, base::Micros now) override;
  void cancel(contract::RequestId id, base::Micros now) override;
  contract::StepPlan next(base::Micros now) override;
  void absorb(const contract::StepResult& result, base::Micros now) override;
  contract::Bounds bounds() const override { return inner_.bounds(); }
  base::Micros predict(const contract::StepShape& shape) const override { return inner_.predict(shape); }
  bool is_short_of_pages() const override { return inner_.is_short_of_pages(); }

 private:
  void write(std::string_view line);
  void write_answer(std::string_view line);

  contract::SchedulerPort& inner_;
  std::ostream& out_;
};

}  // namespace takt::worlds
