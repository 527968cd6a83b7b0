#include "bench/profile.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/engine_driver.h"

namespace takt::apps {
namespace {

using engine::Operation;

constexpr int64_t kFillChunk = 512;  // tokens a step, while the depth is filled

// In the order of Operation.
constexpr const char* kNames[engine::kOperationCount] = {"embedding", "norm, quantise", "qkv",      "rope, store kv",
                                                         "attention", "attention out",  "gate, up", "activation",
                                                         "down",      "logits",         "sampling"};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t busy_ns(const base::ForkTimes& times) {
  int64_t sum = 0;
  for (const auto& busy : times.busy) sum += busy.ns;
  return sum;
}

void set_share(const Ceilings& ceilings, Operation operation, ProfilePart& part) {
  const bool is_product = part.work.int8_operations + part.work.float_operations > 0;
  const double seconds = part.us * 1e-6;
  const auto consider = [&](double amount, double ceiling, const char* of) {
    const double share = seconds > 0 ? share_percent(amount / seconds, ceiling) : 0;
    if (share > part.share_percent) part.share_percent = share, part.of = of;
  };
  if (is_product) {
    consider(part.work.int8_operations, ceilings.int8_per_s, "int8");
    consider(part.work.float_operations, ceilings.float_per_s, "f32");
    consider(part.work.bytes, ceilings.read_bytes_per_s, "memory");
  } else if (operation != Operation::sampling) {
    consider(part.work.bytes, ceilings.read_cache_bytes_per_s, "cache");
  }
}

StepProfile profile_of(const StepClock& clock, const StepWork& work, const Ceilings& ceilings, std::string title) {
  StepProfile profile;
  profile.title = std::move(title);
  const double steps = clock.step_count();
  profile.step_us = clock.step_ns() / steps / 1000;
  for (size_t i = 0; i < engine::kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    ProfilePart part{kNames[i], clock.own_ns(operation) / steps / 1000, work.at(operation), 0, {}};
    set_share(ceilings, operation, part);
    profile.parts.push_back(std::move(part));
  }
  profile.parts.push_back({"fork, join, idle", clock.idle_ns() / steps / 1000, {}, 0, {}});
  profile.parts.push_back({"other", clock.other_ns() / steps / 1000, {}, 0, {}});
  return profile;
}

// While it lives, the pool and the engine report to a clock.
class Watch {
 public:
  Watch(base::ThreadPool& pool, engine::Engine& engine) : pool_(pool), engine_(engine) {
    times_.busy.resize(static_cast<size_t>(pool.thread_count()));
    pool_.watch(&times_);
    engine_.observe(&clock_);
  }
  ~Watch() {
    engine_.observe(nullptr);
    pool_.watch(nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  StepClock& clock() { return clock_; }

 private:
  base::ThreadPool& pool_;
  engine::Engine& engine_;
  base::ForkTimes times_;
  StepClock clock_{times_, pool_.thread_count()};
};

}  // namespace

void StepClock::begin() {
  last_ns_ = now_ns();
  last_fork_ns_ = times_.fork_ns;
  last_busy_ns_ = busy_ns(times_);
}

StepClock::Interval StepClock::take() {
  const int64_t now = now_ns(), busy = busy_ns(times_);
  Interval interval;
  interval.ns = static_cast<double>(now - last_ns_);
  interval.idle_ns =
      static_cast<double>(times_.fork_ns - last_fork_ns_) - static_cast<double>(busy - last_busy_ns_) / threads_;
  last_ns_ = now, last_fork_ns_ = times_.fork_ns, last_busy_ns_ = busy;
  step_ns_ += interval.ns;
  return interval;
}

void StepClock::on_end(Operation operation) {
  const Interval interval = take();
  own_ns_[static_cast<size_t>(operation)] += interval.ns - interval.idle_ns;
  idle_ns_ += interval.idle_ns;
}

void StepClock::end() {
  other_ns_ += take().ns;
  ++step_count_;
}

std::vector<StepProfile> measure_profile(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                         const Roofline& roofline, const ProfileOptions& options) {
  const int64_t depth = options.depth, prompt_end = depth + options.prompt_tokens;
  const int64_t decode_at = std::max<int64_t>(depth, 1);
  EngineDriver driver(model, pool,
                      {1, prompt_end + options.repetitions + 2, std::max(options.prompt_tokens, kFillChunk), true});
  driver.begin(0, prompt_end);
  driver.prefill(0, 0, depth, kFillChunk);
  driver.prefill(0, depth, prompt_end, options.prompt_tokens);  // wakes what sleeps
  const Ceilings ceilings = ceilings_of(roofline, model->kernel_set->name, pool.thread_count());
  const std::string at = " at depth " + std::to_string(depth);
  std::vector<StepProfile> profiles;
  {
    Watch watch(pool, driver.engine());
    for (int i = 0; i < options.repetitions; ++i) {
      driver.begin(0, prompt_end);
      watch.clock().begin();
      driver.prefill(0, depth, prompt_end, options.prompt_tokens);
      watch.clock().end();
    }
    profiles.push_back(profile_of(watch.clock(), work_of_prefill(*model, depth, prompt_end, options.prompt_tokens),
                                  ceilings, "prefill of " + std::to_string(options.prompt_tokens) + " tokens" + at));
  }
  driver.begin(0, decode_at);
  driver.prefill(0, decode_at - 1, decode_at, 1);
  driver.decode(1, decode_at);
  Watch watch(pool, driver.engine());
  const int64_t steps = options.repetitions;
  for (int64_t i = 1; i <= steps; ++i) {
    watch.clock().begin();
    driver.decode(1, decode_at + i);
    watch.clock().end();
  }
  profiles.push_back(profile_of(watch.clock(), work_of_decode(*model, decode_at + (steps + 1) / 2, 1), ceilings,
                                "decode of one row" + at));
  return profiles;
}

std::string profile_table(const std::vector<StepProfile>& profiles) {
  std::string text;
  char line[200], share[32];
  for (const StepProfile& profile : profiles) {
    std::snprintf(line, sizeof line, "%s%s: %.3f ms\n\n", text.empty() ? "" : "\n", profile.title.c_str(),
                  profile.step_us / 1000);
    text += line;
    text +=
        "| operation        |         us | share |      GOP |       MB |    GOP/s |   GB/s | of ceiling   |\n"
        "| ---------------- | ---------: | ----: | -------: | -------: | -------: | -----: | ------------ |\n";
    for (const ProfilePart& part : profile.parts) {
      const double operations = part.work.int8_operations + part.work.float_operations;
      share[0] = 0;
      if (part.share_percent > 0) std::snprintf(share, sizeof share, "%.0f %% %s", part.share_percent, part.of.c_str());
      std::snprintf(line, sizeof line, "| %-16s | %10.1f | %3.0f %% | %8.3f | %8.2f | %8.1f | %6.1f | %-12s |\n",
                    part.name.c_str(), part.us, 100 * part.us / profile.step_us, operations * 1e-9,
                    part.work.bytes * 1e-6, part.us > 0 ? operations / part.us * 1e-3 : 0,
                    part.us > 0 ? part.work.bytes / part.us * 1e-3 : 0, share);
      text += line;
    }
  }
  return text;
}

std::string profile_json(const std::vector<StepProfile>& profiles) {
  boost::json::array steps;
  for (const StepProfile& profile : profiles) {
    boost::json::array parts;
    for (const ProfilePart& part : profile.parts)
      parts.push_back(boost::json::object{{"operation", part.name},
                                          {"us", part.us},
                                          {"int8_operations", part.work.int8_operations},
                                          {"float_operations", part.work.float_operations},
                                          {"bytes", part.work.bytes},
                                          {"share_percent", part.share_percent},
                                          {"of", part.of}});
    steps.push_back(
        boost::json::object{{"step", profile.title}, {"step_us", profile.step_us}, {"parts", std::move(parts)}});
  }
  return boost::json::serialize(steps) + "\n";
}

}  // namespace takt::apps
