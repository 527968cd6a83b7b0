// `takt bench serve`: load against any OpenAI-compatible server, as its clients see it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "load/load_report.h"
#include "load/load_run.h"
#include "load/rate_search.h"
#include "load/scenarios.h"
#include "progress.h"

namespace takt::apps {
namespace {

constexpr double kSearchShare =
    0.9;  // DistServe's definition of goodput (OSDI'24): the rate at which 90 % keep the limits

struct ServeBenchOptions {
  std::string url, model = "default", api_key, endpoint = "completions", service_class;
  LoadSpec spec;
  std::string process = "poisson", prompt = "lognormal:200:1.0:16:3000", output = "lognormal:55:0.7:8:200";
  std::vector<double> rates;
  std::vector<uint32_t> concurrency;
  std::string trace, slo, svg, scenario;
  double time_scale = 1, share = kSearchShare, search_precision = 0.1;
  uint32_t tokens_max = 0;
  int64_t timeout_s = 600;
  ScenarioSpec sizes;
  bool is_json = false, is_plain = false, finds_rate = false;
};

template <class T>
T value_or_fail(base::Result<T> result, const std::string& option) {
  if (!result) fail(option + (option.empty() ? "" : " ") + result.error().message);
  return std::move(result).value();
}

LoadTarget target_of(const ServeBenchOptions& options) {
  LoadTarget target = value_or_fail(parse_url(options.url), "");
  target.model = options.model;
  target.api_key = options.api_key;
  target.is_chat = options.endpoint == "chat";
  target.is_plain = options.is_plain;
  target.timeout = std::chrono::seconds(options.timeout_s);
  return target;
}

// Runs of one command, each with a seed of its own that the command's seed gives.
class ServeBench {
 public:
  ServeBench(const ServeBenchOptions& options, LoadSession& session) : options_(options), session_(session) {
    report_.url = options.url;
    report_.model = options.model;
    report_.process = !options.trace.empty() ? "trace" : !options.concurrency.empty() ? "closed" : options.process;
    report_.limits = value_or_fail(parse_limits(options.slo), "--slo");
    spec_ = options.spec;
    spec_.prompt = value_or_fail(parse_length(options.prompt), "--prompt");
    spec_.output = value_or_fail(parse_length(options.output), "--output");
    spec_.process = report_.process == "closed"  ? LoadProcess::closed
                    : report_.process == "gamma" ? LoadProcess::gamma
                                                 : LoadProcess::poisson;
    if (const auto status = check(spec_); !status) fail(status.error());
    if (options.finds_rate && report_.limits.is_empty()) fail("--find-rate needs limits: --slo ttft=3s,itl=150ms");
  }

  void run() {
    if (report_.process == "trace") {
      run_trace();
    } else if (options_.finds_rate) {
      find();
    } else if (report_.process == "closed") {
      for (const uint32_t clients : options_.concurrency) run_clients(clients);
    } else {
      for (const double rate : options_.rates.empty() ? std::vector<double>{1} : options_.rates) run_rate(rate);
    }
    if (!options_.svg.empty()) {
      std::ofstream out(options_.svg, std::ios::trunc);
      if (!(out << load_svg(report_)).flush()) fail("--svg " + options_.svg + ": cannot be written");
    }
    std::fputs((options_.is_json ? load_json(report_) : load_table(report_)).c_str(), stdout);
  }

 private:
  void add(double load, const std::vector<LoadRecord>& records) {
    report_.points.push_back({load, summarise(records, report_.limits)});
  }

  template <class Run>
  std::vector<LoadRecord> with_progress(const std::string& what, const Run& run) {
    Progress progress(what);
    session_.progress = [&progress](int64_t done, int64_t total) { progress.report(done, total); };
    auto records = run();
    session_.progress = [](int64_t, int64_t) {};
    return records;
  }

  void run_trace() {
    std::ifstream in(options_.trace, std::ios::binary);
    if (!in) fail("--trace " + options_.trace + ": cannot be read");
    const LoadPlan plan =
        value_or_fail(read_load_trace(in, options_.time_scale, spec_.request_count, options_.tokens_max),
                      "--trace " + options_.trace);
    add(0, with_progress("trace", [&] { return run_open(session_, plan); }));
  }

  void run_rate(double rate) {
    spec_.requests_per_s = rate;
    if (const auto status = check(spec_); !status) fail(status.error());
    const LoadPlan plan = make_load_plan(spec_);
    char name[64];
    std::snprintf(name, sizeof name, "%.3g requests/s", rate);
    add(rate, with_progress(name, [&] { return run_open(session_, plan); }));
  }

  void run_clients(uint32_t clients) {
    const LoadPlan plan = make_load_plan(spec_);
    add(clients,
        with_progress(std::to_string(clients) + " clients", [&] { return run_closed(session_, plan, clients); }));
  }

  void find() {
    RateSearch search;
    search.begin = options_.rates.empty() ? search.begin : options_.rates.front();
    search.precision = options_.search_precision;
    report_.is_search = true;
    report_.highest_rate = find_rate(search, [this](double rate) {
      run_rate(rate);
      return report_.points.back().summary.within_share >= options_.share;
    });
  }

  const ServeBenchOptions& options_;
  LoadSession& session_;
  LoadSpec spec_;
  LoadReport report_;
};

void run_one_scenario(const ServeBenchOptions& options, LoadSession& session) {
  Progress progress(options.scenario);
  session.progress = [&progress](int64_t done, int64_t total) { progress.report(done, total); };
  const Figures figures = value_or_fail(run_scenario(options.scenario, options.sizes, session), "--scenario");
  std::fputs(
      (options.is_json ? figures_json(options.scenario, figures) : figures_table(options.scenario, figures)).c_str(),
      stdout);
}

void bench_serve(ServeBenchOptions options) {
  if (options.scenario == "goodput") apply_goodput_preset(options.spec, options.prompt, options.output, options.slo);
  const LoadTarget target = target_of(options);
  auto client = LoadClient::connect(target);
  if (!client) fail(client.error());
  std::random_device device;
  const uint64_t salt = (uint64_t{device()} << 32) | device();  // texts that no earlier run has left in a cache
  LoadSession session{**client, PromptText(salt), {}, options.service_class};
  const bool is_counted = value_or_fail(learn_scale(session), options.url + ":");
  if (!is_counted) std::fprintf(stderr, "takt: the server reports no usage; lengths are counted in words\n");
  if (!options.scenario.empty() && options.scenario != "goodput") return run_one_scenario(options, session);
  ServeBench(options, session).run();
}

void add_load_options(CLI::App& command, ServeBenchOptions& options) {
  add_option(command, "--rate", options.rates, "open loop: requests/s, one run each (a list; 1 unless given)")
      ->delimiter(',');
  add_option(command, "--process", options.process, "how they arrive: poisson, or gamma (bursts)")
      ->check(CLI::IsMember({"poisson", "gamma"}));
  add_option(command, "--burstiness", options.spec.burstiness, "coefficient of variation of the gaps (gamma)");
  add_option(command, "--concurrency", options.concurrency,
             "closed loop instead: clients that wait for their answers (a list, one run each)")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000));
  add_option(command, "--trace", options.trace,
             "instead: the times and lengths of a trace of Azure (CSV) or Mooncake (JSONL)");
  add_option(command, "--time-scale", options.time_scale, "stretches the times between a trace's arrivals")
      ->check(CLI::Range(1e-6, 1e6));
  add_option(command, "--tokens-max", options.tokens_max, "longer prompts and answers of a trace are cut; 0: none");
  add_option(command, "--requests", options.spec.request_count, "requests of a run (of a trace: at most)");
  add_option(command, "--seed", options.spec.seed, "the same seed asks for the same lengths at the same times");
  add_option(command, "--prompt", options.prompt,
             "prompt tokens: 512, uniform:64:1024 or lognormal:MEDIAN:SIGMA:LEAST:MOST");
  add_option(command, "--output", options.output, "answer tokens, likewise");
  add_option(command, "--turns", options.spec.turns, "turns of a conversation; each repeats what was said before");
  add_option(command, "--think", options.spec.think_s_mean, "mean seconds before a next turn");
  add_option(command, "--shared-prefix", options.spec.shared_tokens,
             "tokens that prompts begin with alike; 0: each begins with a word of its own");
  add_option(command, "--shared-prefixes", options.spec.shared_groups, "how many such beginnings there are");
}

void add_result_options(CLI::App& command, ServeBenchOptions& options) {
  // Not from TAKT_SLO, which is `takt serve`'s and has another form.
  command.add_option("--slo", options.slo, "limits of a request: ttft=3s,itl=150ms,gap=1s (mean ITL, longest gap)");
  add_flag(command, "--find-rate", options.finds_rate, "search for the highest rate that keeps --slo, from --rate on");
  add_option(command, "--share", options.share, "share of the requests that must keep it")
      ->check(CLI::Range(0.01, 1.0));
  add_option(command, "--precision", options.search_precision, "of that search, a share of the rate")
      ->check(CLI::Range(0.005, 1.0));
  add_flag(command, "--json", options.is_json, "one JSON object on stdout");
  add_option(command, "--svg", options.svg, "also draw TTFT and ITL against the load into this file");
}

void add_server_options(CLI::App& command, ServeBenchOptions& options) {
  command.add_option("URL", options.url, "an OpenAI-compatible server, as http://127.0.0.1:8080")->required();
  add_option(command, "--endpoint", options.endpoint, "completions or chat")
      ->check(CLI::IsMember({"completions", "chat"}));
  add_option(command, "--model", options.model, "the model's name as the server knows it");
  add_option(command, "--api-key", options.api_key, "sent as a bearer token");
  add_option(command, "--service-class", options.service_class,
             "of all requests (Takt): interactive, batch or background");
  add_flag(command, "--plain", options.is_plain,
           "send only fields that OpenAI's API has (answers may end early, tokens of one chunk are not counted)");
  add_option(command, "--timeout", options.timeout_s, "seconds after which a request counts as an error")
      ->check(CLI::Range(1, 86'400));
}

void add_scenario_options(CLI::App& command, ServeBenchOptions& options) {
  add_option(command, "--scenario", options.scenario,
             "a preset: interference, burst, second-turn, background, goodput (sets lengths and limits)")
      ->check(CLI::IsMember({"interference", "burst", "second-turn", "background", "goodput"}));
  add_option(command, "--streams", options.sizes.streams, "chats that decode (interference, background)")
      ->check(CLI::Range(1, 1000));
  add_option(command, "--long", options.sizes.long_tokens, "tokens of the long prompt; 0: the scenario's own");
  add_option(command, "--count", options.sizes.count, "short or background requests; 0: the scenario's own");
  add_option(command, "--settle", options.sizes.settle_s, "seconds that chats decode alone first")
      ->check(CLI::Range(0.5, 600.0));
}

}  // namespace

void add_bench_serve_command(CLI::App& bench) {
  auto* command = bench.add_subcommand("serve", "Load against any OpenAI-compatible server, as its clients see it");
  auto options = std::make_shared<ServeBenchOptions>();
  add_server_options(*command, *options);
  add_load_options(*command, *options);
  add_result_options(*command, *options);
  add_scenario_options(*command, *options);
  command->footer(
      "Times count from when a request was to be sent, not from when the client came round to it. TTFT ends with the "
      "first\n"
      "chunk that has content; ITL counts each token once, also where a chunk holds several. Errors are counted by "
      "kind and\n"
      "never left out of a share.\n"
      "Examples:\n"
      "  takt bench serve http://127.0.0.1:8080 --rate 0.25,0.5,1 --slo ttft=3s,itl=150ms,gap=1s --svg load.svg\n"
      "  takt bench serve http://127.0.0.1:8080 --concurrency 1,2,4,8 --prompt 256 --output 64\n"
      "  takt bench serve http://127.0.0.1:8080 --trace trace.csv --requests 200 --time-scale 10\n"
      "  takt bench serve http://127.0.0.1:8080 --scenario interference");
  command->callback([options] { bench_serve(*options); });
}

}  // namespace takt::apps
