// Where a step spends its time, by operation.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "bench/roofline.h"
#include "bench/step_work.h"
#include "engine/step_observer.h"
#include "model/model.h"

namespace takt::apps {

struct ProfileOptions {
  int64_t prompt_tokens = 512;  // of the prefill step
  int64_t depth = 0;            // tokens before both steps
  int repetitions = 5;
};

// One line of a profile. Means over the repetitions.
struct ProfilePart {
  std::string name;
  double us = 0;
  Work work;
  double share_percent = 0;  // of the ceiling that `of` names; 0: none applies
  std::string of;
};

struct StepProfile {
  std::string title;
  double step_us = 0;
  std::vector<ProfilePart> parts;  // their times sum to step_us
};

// Takes the time of each operation of the steps between begin() and end(). An operation's own time is what its threads computed,
// as if they had shared it evenly; what they waited for each other is told apart.
class StepClock final : public engine::StepObserver {
 public:
  // times: watched by the pool that the steps run on, and written by nobody else.
  StepClock(const base::ForkTimes& times, int threads) : times_(times), threads_(threads) {}
  void begin();
  void on_end(engine::Operation operation) override;
  void end();

  double own_ns(engine::Operation operation) const { return own_ns_[static_cast<size_t>(operation)]; }
  double idle_ns() const { return idle_ns_; }
  double other_ns() const { return other_ns_; }  // between the last operation and end()
  double step_ns() const { return step_ns_; }
  int step_count() const { return step_count_; }

 private:
  // Since the last call: all of it, and the part of it in which threads waited.
  struct Interval {
    double ns = 0, idle_ns = 0;
  };
  Interval take();

  const base::ForkTimes& times_;
  int threads_;
  int64_t last_ns_ = 0, last_fork_ns_ = 0, last_busy_ns_ = 0;
  std::array<double, engine::kOperationCount> own_ns_{};
  double idle_ns_ = 0, other_ns_ = 0, step_ns_ = 0;
  int step_count_ = 0;
};

// A prefill step of prompt_tokens, and a decode step of one row, both with sampling. Fails the command when memory is short.
std::vector<StepProfile> measure_profile(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                         const Roofline& roofline, const ProfileOptions& options);

std::string profile_table(const std::vector<StepProfile>& profiles);
std::string profile_json(const std::vector<StepProfile>& profiles);

}  // namespace takt::apps
