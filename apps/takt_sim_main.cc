// takt-sim: the scheduler in virtual time, on traffic from a seed. Needs no model, no weights and no kernels: it links
// none.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "contract/model_shape.h"
#include "cost/roofline/roofline_cost.h"
#include "scheduler/scheduler.h"
#include "worlds/recorder.h"
#include "worlds/replay.h"
#include "worlds/sim/sim_report.h"
#include "worlds/sim/sim_world.h"
#include "worlds/sim/traffic.h"

namespace {

using namespace takt;

struct Options {
  worlds::TrafficSpec traffic;
  contract::Capacity capacity;
  cost::MachineRates rates;
  std::string record_path;
  std::string replay_path;
  bool is_json = false;
};

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

constexpr const char* kExamples = R"(Examples:
  takt-sim --seed 7                               the default load: 200 requests, Poisson, 0.7 a second
  takt-sim --rate 1.4 --chunk 64                  twice the load, smaller prefill chunks beside decode rows
  takt-sim --process closed --clients 32          32 clients, each waiting for its answer
  takt-sim --pages 256 --rate 1.4                 little KV memory: watch the preemptions
  takt-sim --record run.txt && takt-sim --replay run.txt   every plan again, byte for byte
The machine and the model are those of the roofline defaults; change them with --memory-gb-s and --gop-s.)";

void add_traffic_options(CLI::App& app, worlds::TrafficSpec& traffic) {
  app.add_option("--seed", traffic.seed, "Seed of the traffic; a run is its seed")->capture_default_str();
  app.add_option("--requests", traffic.request_count, "Requests in all")->capture_default_str();
  app.add_option_function<std::string>(
         "--process",
         [&](const std::string& name) {
           traffic.process = name == "gamma"    ? worlds::ArrivalProcess::gamma
                             : name == "closed" ? worlds::ArrivalProcess::closed
                                                : worlds::ArrivalProcess::poisson;
         },
         "How they arrive: poisson, gamma (bursts) or closed (clients that wait)")
      ->check(CLI::IsMember({"poisson", "gamma", "closed"}))
      ->type_name("NAME")
      ->default_str("poisson");
  app.add_option("--rate", traffic.requests_per_s, "Requests per second (poisson, gamma)")->capture_default_str();
  app.add_option("--burstiness", traffic.burstiness, "Coefficient of variation of the gaps (gamma)")
      ->capture_default_str();
  app.add_option("--clients", traffic.clients, "Clients (closed)")->capture_default_str();
  app.add_option("--think", traffic.think_s_mean, "Mean seconds between answer and next request (closed)")
      ->capture_default_str();
  app.add_option("--prompt", traffic.prompt_tokens_mean, "Mean prompt, tokens")->capture_default_str();
  app.add_option("--output", traffic.output_tokens_mean, "Mean answer, tokens")->capture_default_str();
  app.add_option("--spread", traffic.length_sigma, "Log-normal sigma of both lengths; 0: all equal")
      ->capture_default_str();
  app.add_option("--batch", traffic.batch_percent, "Share of class batch, percent")->capture_default_str();
  app.add_option("--background", traffic.background_percent, "Share of class background, percent")
      ->capture_default_str();
}

void add_server_options(CLI::App& app, Options& options) {
  contract::Capacity& capacity = options.capacity;
  app.add_option("--rows", capacity.rows_max, "Requests at once")->capture_default_str();
  app.add_option("--waiting", capacity.waiting_requests_max, "Requests that may wait at most")->capture_default_str();
  app.add_option("--pages", capacity.page_count, "KV pages of 32 tokens")->capture_default_str();
  app.add_option_function<std::string>(
         "--prefix-cache", [&](const std::string& value) { capacity.has_prefix_cache = value == "on"; },
         "Requests that begin alike share KV pages: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str("on");
  app.add_option("--ctx", capacity.context_tokens, "Context of a request, tokens")->capture_default_str();
  app.add_option("--step-tokens", capacity.step_tokens_max, "Tokens in a step at most")->capture_default_str();
  app.add_option("--chunk", capacity.chunk_tokens_beside_decode, "Prompt tokens in a step beside decode rows")
      ->capture_default_str();
  app.add_option_function<double>(
         "--memory-gb-s", [&](double rate) { options.rates.memory_bytes_per_us = std::llround(rate * 1000); },
         "Memory bandwidth of the machine, GB/s")
      ->check(CLI::Range(0.1, 100'000.0))
      ->default_str("30");
  app.add_option_function<double>(
         "--gop-s", [&](double rate) { options.rates.linear_ops_per_us = std::llround(rate * 1000); },
         "Matrix arithmetic of the machine, GOP/s")
      ->check(CLI::Range(0.1, 1e9))
      ->default_str("450");
  app.add_option("--record", options.record_path, "Write every call and plan of the scheduler to this file");
  app.add_option(
      "--replay", options.replay_path,
      "Run nothing: feed this recording (also of takt serve --record) to a bare scheduler, compare every plan");
  app.add_flag("--json", options.is_json, "One JSON object instead of the table; times in microseconds");
}

// Every option also as TAKT_…: --step-tokens is TAKT_STEP_TOKENS.
void name_in_environment(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--help") continue;
    std::string name = "TAKT_";
    for (const char c : option->get_name().substr(2)) {
      name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    option->envname(name);
  }
}

int fail(const base::Error& error) {
  std::fprintf(stderr, "takt-sim: %s\n", error.message.c_str());
  return 1;
}

int run_replay(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail({base::ErrorCode::io, "cannot open " + path});
  const auto report = worlds::replay(in, scheduler::make_scheduler);
  if (!report.ok()) return fail(report.error());
  std::printf("%s: %llu submits, %llu cancels, %llu steps, %llu answers equal\n", path.c_str(),
              static_cast<unsigned long long>(report->submits), static_cast<unsigned long long>(report->cancels),
              static_cast<unsigned long long>(report->steps), static_cast<unsigned long long>(report->answers_equal));
  if (report->is_identical()) return 0;
  const auto& difference = *report->first_difference;
  std::printf("DIFFERENT at line %llu\n  recorded: %s\n  replayed: %s\n",
              static_cast<unsigned long long>(difference.line), difference.recorded.c_str(),
              difference.replayed.c_str());
  return 2;
}

int run_simulation(const Options& options) {
  if (base::Status status = worlds::check(options.traffic); !status.ok()) return fail(status.error());
  auto made = scheduler::make_scheduler(options.capacity);
  if (!made.ok()) return fail(made.error());
  contract::SchedulerPort* scheduler = made->get();
  std::ofstream out;
  std::unique_ptr<worlds::RecordingScheduler> recorder;
  if (!options.record_path.empty()) {
    out.open(options.record_path, std::ios::binary);
    if (!out) return fail({base::ErrorCode::io, "cannot write " + options.record_path});
    recorder =
        std::make_unique<worlds::RecordingScheduler>(*scheduler, options.capacity, contract::ServicePolicy(), out);
    scheduler = recorder.get();
  }
  const cost::RooflineCost truth(default_shape(), options.rates);
  worlds::GeneratedTraffic traffic(options.traffic);
  worlds::SimWorld world(*scheduler, options.capacity, truth, traffic);
  const auto begin = std::chrono::steady_clock::now();
  if (base::Status status = world.run(); !status.ok()) return fail(status.error());
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (recorder && !out.flush()) return fail({base::ErrorCode::io, "cannot write all of " + options.record_path});

  const worlds::SimReport report = worlds::make_report(world);
  if (options.is_json) {
    std::fputs(worlds::to_json(report, options.traffic.seed).c_str(), stdout);
    return 0;
  }
  std::fputs(worlds::to_table(report).c_str(), stdout);
  std::printf("wall time    %.3f s, %.0f requests/s, %.1f us a step (scheduler and simulation)\n", wall.count(),
              static_cast<double>(world.records().size()) / std::max(wall.count(), 1e-6),
              wall.count() * 1e6 / static_cast<double>(std::max<uint64_t>(report.steps, 1)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs Takt's scheduler in virtual time and says what clients would have seen.", "takt-sim"};
  Options options;
  options.capacity.page_count = 2048;
  options.capacity.context_tokens = 8192;
  options.capacity.rows_max = 32;
  options.capacity.has_prefix_cache = true;
  add_traffic_options(app, options.traffic);
  add_server_options(app, options);
  name_in_environment(app);
  app.footer(kExamples);
  CLI11_PARSE(app, argc, argv);
  options.traffic.tokens_max = std::max(2u, options.capacity.context_tokens);
  if (!options.replay_path.empty()) return run_replay(options.replay_path);
  if (!options.is_json) std::printf("seed %llu\n\n", static_cast<unsigned long long>(options.traffic.seed));
  return run_simulation(options);
}
