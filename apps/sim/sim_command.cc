#include "sim/sim_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app_options.h"
#include "cost/fitted/fit_cost.h"
#include "cost/roofline/roofline_cost.h"
#include "scheduler/scheduler.h"
#include "sim/sim_inputs.h"
#include "sim/sim_options.h"
#include "worlds/recorder.h"
#include "worlds/replay.h"
#include "worlds/sim/sim_report.h"
#include "worlds/sim/sim_world.h"

namespace takt::apps {
namespace {

// Qwen2.5 0.5B with 4-bit weights: 24 layers, 2 key-value heads of 64, f16 cache. Small enough to be anyone's first
// server.
contract::ModelShape default_shape() {
  contract::ModelShape shape;
  shape.name = "qwen2.5-0.5b (4 bit)";
  shape.architecture = "qwen2";
  shape.layer_count = 24;
  shape.embedding_length = 896;
  shape.vocabulary_size = 151'936;
  shape.context_train = 32'768;
  shape.kv_bytes_per_token = base::Bytes(2 * 24 * 2 * 64 * 2);
  shape.weight_bytes = base::Bytes(391'000'000);
  shape.weights_linear = 358'000'000;
  shape.weights_output = 136'000'000;
  return shape;
}

void run_replay(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot open " + path);
  const auto report = worlds::replay(in, scheduler::make_scheduler);
  if (!report.ok()) fail(path + ": " + report.error().message);
  std::printf("%s: %llu submits, %llu cancels, %llu steps, %llu answers equal\n", path.c_str(),
              static_cast<unsigned long long>(report->submits), static_cast<unsigned long long>(report->cancels),
              static_cast<unsigned long long>(report->steps), static_cast<unsigned long long>(report->answers_equal));
  if (report->is_identical()) return;
  const auto& difference = *report->first_difference;
  std::printf("DIFFERENT at line %llu\n  recorded: %s\n  replayed: %s\n",
              static_cast<unsigned long long>(difference.line), difference.recorded.c_str(),
              difference.replayed.c_str());
  throw CLI::RuntimeError(2);
}

void run_fit(const SimOptions& options) {
  std::vector<cost::StepSample> samples;
  for (const std::string& path : options.fit) {
    const auto more = worlds::samples_of(read_recording(path));
    samples.insert(samples.end(), more.begin(), more.end());
  }
  const auto fit = cost::fit_cost(samples);
  if (!fit.ok()) fail(fit.error());
  std::fputs(cost::to_table(fit->errors).c_str(), stdout);
  std::printf("host         %.0f us a step, %.1f us more for each token it yields\n", fit->coefficients.host_fixed_us,
              fit->coefficients.host_row_us);
  if (options.cost.empty()) return;
  write_file(options.cost, cost::to_text(fit->coefficients));
  std::printf("written to %s\n", options.cost.c_str());
}

// The truth about steps: fitted with or without its noise, or assumed.
struct Truth {
  std::unique_ptr<cost::StepCost> typical;
  std::unique_ptr<cost::StepCost> noisy;
  const cost::StepCost& get() const { return noisy ? *noisy : *typical; }
};

Truth make_truth(const SimOptions& options) {
  Truth truth;
  if (options.cost.empty()) {
    truth.typical = std::make_unique<cost::RooflineCost>(default_shape(), options.rates);
    return truth;
  }
  auto fitted = std::make_unique<cost::FittedCost>(read_cost(options.cost));
  if (!options.is_smooth) truth.noisy = std::make_unique<cost::NoisyCost>(*fitted, options.traffic.seed);
  truth.typical = std::move(fitted);
  return truth;
}

// A simulated run with all that it stands on.
class Simulation {
 public:
  explicit Simulation(const SimOptions& options) : options_(options), truth_(make_truth(options)) {}

  void run() {
    make_traffic();
    std::optional<worlds::SimReport> recorded;
    if (trace_.recorded) {
      const worlds::RecordedRun& run = *trace_.recorded;
      recorded = worlds::make_report(run.records, run.steps.size(), run.preemptions, policy_);
    }
    if (options_.shows_recorded) {
      if (!recorded) fail("--recorded needs a recording as --trace");
      timeline_ = {worlds::timeline_of(*trace_.recorded), trace_.recorded->records};
      return show(*recorded, nullptr);
    }
    simulate();
    worlds::SimReport report = worlds::make_report(timeline_.records, steps_, preemptions_, policy_);
    report.preempted_tokens_lost = end_.preempted_tokens_lost;
    report.preempted_time_lost = end_.preempted_time_lost;
    show(report, recorded ? &*recorded : nullptr);
    if (options_.is_json) return;
    std::printf("wall time    %.3f s, %.0f requests/s, %.2f us a step (scheduler and simulation)\n", wall_s_,
                static_cast<double>(timeline_.records.size()) / std::max(wall_s_, 1e-6),
                wall_s_ * 1e6 / static_cast<double>(std::max<uint64_t>(steps_, 1)));
    if (recorded) std::printf("\n%s", worlds::to_comparison(*recorded, report).c_str());
  }

 private:
  void make_traffic() {
    worlds::TrafficSpec spec = options_.traffic;
    capacity_ = default_sim_capacity();
    if (!options_.trace.empty()) {
      trace_ = read_trace(options_.trace);
      if (trace_.recorded) capacity_ = trace_.recorded->capacity;
    }
    // The flags, where any is given; else what the recording was made under.
    const auto policy = read_policy(options_.policy);
    if (!policy) fail(policy.error());
    policy_ = trace_.recorded && *policy == contract::ServicePolicy() ? trace_.recorded->policy : *policy;
    capacity_ = with_flags(capacity_, options_.capacity);
    if (options_.trace.empty()) {
      spec.request_count = options_.request_count.value_or(spec.request_count);
      spec.tokens_max = std::max(2u, capacity_.context_tokens);
      if (base::Status status = worlds::check(spec); !status.ok()) fail(status.error());
      traffic_ = std::make_unique<worlds::GeneratedTraffic>(spec);
      return;
    }
    auto& arrivals = trace_.arrivals;
    if (options_.request_count) arrivals.resize(std::min<size_t>(arrivals.size(), *options_.request_count));
    for (worlds::Arrival& arrival : arrivals) {
      arrival.at = base::Micros(std::llround(static_cast<double>(arrival.at.count()) * options_.time_scale));
    }
    traffic_ = std::make_unique<worlds::TraceTraffic>(arrivals);
  }

  void simulate() {
    auto made = scheduler::make_scheduler(capacity_, policy_);
    if (!made.ok()) fail(made.error());
    contract::SchedulerPort* scheduler = made->get();
    std::ofstream out;
    std::unique_ptr<worlds::RecordingScheduler> recorder;
    if (!options_.record.empty()) {
      out.open(options_.record, std::ios::binary);
      if (!out) fail("cannot write " + options_.record);
      recorder = std::make_unique<worlds::RecordingScheduler>(*scheduler, capacity_, policy_, out);
      scheduler = recorder.get();
    }
    worlds::SimWorld world(*scheduler, capacity_, truth_.get(), *traffic_);
    if (!options_.svg.empty() || !options_.perfetto.empty()) {
      world.listen([&](const contract::StepPlan& plan, base::Micros began) {
        timeline_.steps.push_back(worlds::timeline_step(plan, began, world.now()));
      });
    }
    const auto begin = std::chrono::steady_clock::now();
    if (base::Status status = world.run(); !status.ok()) fail(status.error());
    wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (recorder && !out.flush()) fail("cannot write all of " + options_.record);
    timeline_.records = world.take_records();
    steps_ = world.steps();
    preemptions_ = world.preemptions();
    end_ = scheduler->bounds();
  }

  void show(const worlds::SimReport& report, const worlds::SimReport* recorded) {
    if (!options_.svg.empty()) {
      write_file(options_.svg, worlds::to_svg(timeline_, parse_window(options_.window, timeline_)));
    }
    if (!options_.perfetto.empty()) write_file(options_.perfetto, worlds::to_perfetto(timeline_));
    std::fputs(options_.is_json ? worlds::to_json(report, options_.traffic.seed, recorded).c_str()
                                : worlds::to_table(report).c_str(),
               stdout);
  }

  const SimOptions& options_;
  Truth truth_;
  Trace trace_;
  contract::Capacity capacity_;
  contract::ServicePolicy policy_;
  std::unique_ptr<worlds::Traffic> traffic_;
  worlds::Timeline timeline_;
  uint64_t steps_ = 0;
  uint64_t preemptions_ = 0;
  contract::Bounds end_;
  double wall_s_ = 0;
};

void run_sim(const SimOptions& options) {
  if (!options.replay.empty()) return run_replay(options.replay);
  if (!options.fit.empty()) return run_fit(options);
  if (!options.is_json) std::printf("seed %llu\n\n", static_cast<unsigned long long>(options.traffic.seed));
  Simulation(options).run();
}

}  // namespace

void make_sim_command(CLI::App& app) {
  auto options = std::make_shared<SimOptions>();
  add_sim_options(app, *options);
  app.callback([options] { run_sim(*options); });
}

}  // namespace takt::apps
