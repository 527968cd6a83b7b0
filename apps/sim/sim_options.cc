#include "sim/sim_options.h"

#include <cmath>

#include "app_options.h"

namespace takt::apps {
namespace {

void add_traffic_options(CLI::App& app, SimOptions& options) {
  worlds::TrafficSpec& traffic = options.traffic;
  add_option(app, "--seed", traffic.seed, "seed of traffic and noise; a run is its seed");
  app.add_option("--requests", options.request_count, "requests in all; of a trace: the first so many")
      ->envname("TAKT_REQUESTS")
      ->default_str("200, of a trace all");
  app.add_option_function<std::string>(
         "--process",
         [&traffic](const std::string& name) {
           traffic.process = name == "gamma"    ? worlds::ArrivalProcess::gamma
                             : name == "closed" ? worlds::ArrivalProcess::closed
                                                : worlds::ArrivalProcess::poisson;
         },
         "how they arrive: poisson, gamma (bursts) or closed (clients that wait)")
      ->check(CLI::IsMember({"poisson", "gamma", "closed"}))
      ->envname("TAKT_PROCESS")
      ->default_str("poisson");
  add_option(app, "--rate", traffic.requests_per_s, "requests per second (poisson, gamma)");
  add_option(app, "--burstiness", traffic.burstiness, "coefficient of variation of the gaps (gamma)");
  add_option(app, "--clients", traffic.clients, "clients (closed)");
  add_option(app, "--think", traffic.think_s_mean, "mean seconds between answer and next request (closed)");
  add_option(app, "--prompt", traffic.prompt_tokens_mean, "mean prompt, tokens");
  add_option(app, "--output", traffic.output_tokens_mean, "mean answer, tokens");
  add_option(app, "--spread", traffic.length_sigma, "log-normal sigma of both lengths; 0: all equal");
  add_option(app, "--batch", traffic.batch_percent, "share of class batch, percent");
  add_option(app, "--background", traffic.background_percent, "share of class background, percent");
  add_option(app, "--trace", options.trace,
             "instead of all these: a trace of Azure (CSV) or Mooncake (JSONL), or a recording of takt serve --record");
  add_option(app, "--time-scale", options.time_scale, "stretches the times between a trace's arrivals")
      ->check(CLI::Range(1e-6, 1e6));
}

void add_capacity_options(CLI::App& app, CapacityFlags& flags) {
  const contract::Capacity standard = default_sim_capacity();
  const auto add = [&app](const char* name, std::optional<uint32_t>& target, uint32_t otherwise, const char* what) {
    app.add_option(name, target, what)
        ->envname(environment_name(name))
        ->default_str(std::to_string(otherwise) + ", or a recording's");
  };
  add("--rows", flags.rows_max, standard.rows_max, "requests at once");
  add("--waiting", flags.waiting_requests_max, standard.waiting_requests_max, "requests that may wait at most");
  app.add_option("--waiting-tokens", flags.waiting_tokens_max, "prompt tokens that may wait at most")
      ->envname("TAKT_WAITING_TOKENS")
      ->default_str(std::to_string(standard.waiting_tokens_max.count()) + ", or a recording's");
  add("--pages", flags.page_count, standard.page_count, "KV pages of 32 tokens");
  add("--ctx", flags.context_tokens, standard.context_tokens, "context of a request, tokens");
  add("--step-tokens", flags.step_tokens_max, standard.step_tokens_max, "tokens in a step at most");
  add("--chunk", flags.chunk_tokens_beside_decode, standard.chunk_tokens_beside_decode,
      "prompt tokens in a step beside decode rows; 0: as many as keep the limits of those rows");
  app.add_option_function<std::string>(
         "--prefix-cache", [&](const std::string& value) { flags.has_prefix_cache = value == "on"; },
         "requests that begin alike share KV pages: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->envname("TAKT_PREFIX_CACHE")
      ->default_str("on, or a recording's");
}

void add_cost_options(CLI::App& app, SimOptions& options) {
  app.add_option_function<double>(
         "--memory-gb-s", [&](double rate) { options.rates.memory_bytes_per_us = std::llround(rate * 1000); },
         "memory bandwidth of the assumed machine, GB/s")
      ->check(CLI::Range(0.1, 100'000.0))
      ->envname("TAKT_MEMORY_GB_S")
      ->default_str("30");
  app.add_option_function<double>(
         "--gop-s", [&](double rate) { options.rates.linear_ops_per_us = std::llround(rate * 1000); },
         "matrix arithmetic of the assumed machine, GOP/s")
      ->check(CLI::Range(0.1, 1e9))
      ->envname("TAKT_GOP_S")
      ->default_str("450");
  app.add_option_function<double>(
         "--attention-gop-s", [&](double rate) { options.rates.attention_ops_per_us = std::llround(rate * 1000); },
         "attention arithmetic of the assumed machine, GOP/s")
      ->check(CLI::Range(0.1, 1e9))
      ->envname("TAKT_ATTENTION_GOP_S")
      ->default_str("100");
  add_option(app, "--fit", options.fit, "run nothing: fit step costs to recordings, print the errors, write --cost");
  add_option(app, "--cost", options.cost, "step costs fitted before, instead of an assumed machine");
  add_flag(app, "--smooth", options.is_smooth, "no noise: fitted steps always take their typical time");
}

void add_output_options(CLI::App& app, SimOptions& options) {
  add_option(app, "--svg", options.svg, "draw the timeline into this file");
  add_option(app, "--perfetto", options.perfetto, "write it as a trace for ui.perfetto.dev or chrome://tracing");
  add_option(app, "--window", options.window, "draw only the seconds FROM:UNTIL");
  add_flag(app, "--recorded", options.shows_recorded,
           "with a recording as --trace: show what was recorded, simulate nothing");
  add_option(app, "--record", options.record, "write every call and plan of the scheduler to this file");
  add_option(app, "--replay", options.replay,
             "run nothing: feed this recording to a bare scheduler, compare every plan");
  add_flag(app, "--json", options.is_json, "one JSON object instead of the table; times in microseconds");
}

constexpr const char* kExamples = R"(Examples:
  takt sim --seed 7                               the default load: 200 requests, Poisson, 0.7 a second
  takt sim --rate 1.4 --chunk 64                  twice the load, smaller prefill chunks beside decode rows
  takt sim --process closed --clients 32          32 clients, each waiting for its answer
  takt sim --pages 256 --rate 1.4                 little KV memory: watch the preemptions
  takt sim --svg run.svg --window 20:40           what it looks like
  takt sim --record run.txt && takt sim --replay run.txt   every plan again, byte for byte
The costs of steps that your machine really has:
  takt serve MODEL --record run.txt               then some load
  takt sim --fit run.txt --cost machine.txt
  takt sim --cost machine.txt --trace other.txt   another recording, recorded beside simulated
Without --cost the machine and the model are those of the roofline defaults (Qwen2.5 0.5B, 4 bit).)";

}  // namespace

void add_sim_options(CLI::App& app, SimOptions& options) {
  add_traffic_options(app, options);
  add_capacity_options(app, options.capacity);
  add_policy_options(app, options.policy);
  add_cost_options(app, options);
  add_output_options(app, options);
  app.footer(kExamples);
}

contract::Capacity default_sim_capacity() {
  contract::Capacity capacity;
  capacity.page_count = 2048;
  capacity.context_tokens = 8192;
  capacity.rows_max = 32;
  capacity.has_prefix_cache = true;
  return capacity;
}

contract::Capacity with_flags(contract::Capacity capacity, const CapacityFlags& flags) {
  capacity.rows_max = flags.rows_max.value_or(capacity.rows_max);
  capacity.waiting_requests_max = flags.waiting_requests_max.value_or(capacity.waiting_requests_max);
  if (flags.waiting_tokens_max) capacity.waiting_tokens_max = base::Tokens(*flags.waiting_tokens_max);
  capacity.page_count = flags.page_count.value_or(capacity.page_count);
  capacity.context_tokens = flags.context_tokens.value_or(capacity.context_tokens);
  capacity.step_tokens_max = flags.step_tokens_max.value_or(capacity.step_tokens_max);
  capacity.chunk_tokens_beside_decode = flags.chunk_tokens_beside_decode.value_or(capacity.chunk_tokens_beside_decode);
  capacity.has_prefix_cache = flags.has_prefix_cache.value_or(capacity.has_prefix_cache);
  return capacity;
}

}  // namespace takt::apps
