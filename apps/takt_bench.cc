// `takt bench`: llama-bench's options and columns, and what else measures this machine and a model on it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "bench/bench_table.h"
#include "bench/number_list.h"
#include "bench/profile.h"
#include "bench/throughput.h"
#include "commands.h"
#include "kernels/kernel_set.h"
#include "session.h"

namespace takt::apps {
namespace {

struct BenchOptions {
  std::string model, kernels, output = "md";
  std::vector<std::string> prompt = {"512"}, generate = {"128"}, pairs, depth = {"0"}, batch = {"2048"},
                           chunk = {"512"}, threads;
  int repetitions = 5;
  bool is_refresh = false, is_profile = false, has_no_warm_up = false;
  KvOptions kv;
};

std::vector<ThroughputTest> tests_of(const BenchOptions& options) {
  std::vector<ThroughputTest> tests;
  for (int64_t depth : numbers("-d", options.depth))
    for (int64_t batch : numbers("-b", options.batch, 1))
      for (int64_t chunk : numbers("-ub", options.chunk, 1)) {
        ThroughputTest test;
        test.depth_tokens = depth;
        test.batch_tokens = batch;
        test.chunk_tokens = chunk;
        const auto add = [&](int64_t prompt, int64_t generate) {
          test.prompt_tokens = prompt;
          test.generated_tokens = generate;
          if (prompt + generate > 0) tests.push_back(test);
        };
        for (int64_t prompt : numbers("-p", options.prompt)) add(prompt, 0);
        for (int64_t generate : numbers("-n", options.generate)) add(0, generate);
        for (const std::string& pair : options.pairs) {
          const std::vector<int64_t> both = numbers("-pg", {pair});
          if (both.size() != 2) fail("-pg " + pair + ": expected two numbers, as in 512,128");
          add(both[0], both[1]);
        }
      }
  if (tests.empty()) fail("nothing to measure: give -p, -n or -pg more than 0 tokens");
  return tests;
}

void profile(const BenchOptions& options, std::shared_ptr<const model::Model> model, const Roofline& roofline,
             int64_t threads) {
  if (options.output != "md" && options.output != "json") fail("--profile writes md or json");
  base::ThreadPool pool(static_cast<int>(std::clamp<int64_t>(threads, 1, 256)));
  ProfileOptions profile_options;
  profile_options.prompt_tokens = numbers("-p", options.prompt, 1).front();
  profile_options.depth = numbers("-d", options.depth).front();
  profile_options.repetitions = options.repetitions;
  const auto profiles = measure_profile(std::move(model), pool, roofline, profile_options);
  std::fputs((options.output == "json" ? profile_json(profiles) : profile_table(profiles)).c_str(), stdout);
}

void bench(const BenchOptions& options) {
  if (options.model.empty()) fail("a model is missing: a GGUF file, or the short name of a model in the cache");
  const kernels::KernelSet* set = kernels::select_kernel_set(options.kernels);
  if (set == nullptr) fail("--kernels " + options.kernels + ": unknown, or not supported by this processor");
  const auto file = open_model_file(options.model);
  const Roofline roofline = roofline_or_fail(options.is_refresh);
  std::vector<int64_t> threads = numbers("-t", options.threads, 1);
  if (threads.empty()) threads.push_back(std::max(1u, std::thread::hardware_concurrency()));
  const auto model = load_for_bench(file, *set, kv_formats(options.kv, *set));
  if (options.is_profile) return profile(options, model, roofline, threads.front());
  BenchTable table(options.output, file->path(), *model, roofline);
  for (int64_t count : threads) {
    base::ThreadPool pool(static_cast<int>(std::clamp<int64_t>(count, 1, 256)));
    for (const ThroughputTest& test : tests_of(options))
      table.add(measure_throughput(model, pool, test, options.repetitions, !options.has_no_warm_up));
  }
  table.finish();
}

}  // namespace

std::shared_ptr<const model::Model> load_for_bench(std::shared_ptr<const gguf::File> file,
                                                   const kernels::KernelSet& set, std::optional<base::KvFormats> kv) {
  base::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::string path = file->path();
  auto loaded = model::load_model(std::move(file), set, pool, {}, kv);
  if (!loaded) fail(path + ": " + loaded.error().message);
  return std::move(loaded).value();
}

void add_bench_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench", "Measure prefill and decode speed, with llama-bench's options and columns");
  add_bench_roofline_command(*command);
  add_bench_kernels_command(*command);
  add_bench_rows_command(*command);
  add_bench_serve_command(*command);
  add_bench_division_command(*command);
  auto options = std::make_shared<BenchOptions>();
  command->add_option("MODEL,-m,--model", options->model, "a GGUF file, or the short name of a model in the cache");
  // llama-bench writes -pg, -ub and -r so; CLI11 takes only one letter after one dash: see expand_bench_options().
  add_option(*command, "-p,--n-prompt", options->prompt, "prompt tokens (lists and ranges; 0: no such test)");
  add_option(*command, "-n,--n-gen", options->generate, "generated tokens");
  add_option(*command, "--pg", options->pairs, "prompt,generated: both in one test");
  add_option(*command, "-d,--n-depth", options->depth, "tokens in the KV cache before the test");
  add_option(*command, "-b,--batch-size", options->batch, "tokens handed over at once");
  add_option(*command, "--ub,--ubatch-size", options->chunk, "tokens evaluated in one step");
  add_option(*command, "-t,--threads", options->threads, "threads");
  add_option(*command, "-r,--repetitions", options->repetitions, "repetitions")->check(CLI::Range(1, 1000));
  add_option(*command, "-o,--output", options->output, "md, json, jsonl or csv")
      ->check(CLI::IsMember({"md", "json", "jsonl", "csv"}));
  add_option(*command, "--kernels", options->kernels, "instruction set; empty: the best supported");
  add_flag(*command, "--no-warmup", options->has_no_warm_up, "no run before the measured ones");
  add_flag(*command, "--profile", options->is_profile,
           "where a prefill step (of the first -p tokens) and a decode step spend their time, at the first -d");
  add_flag(*command, "--refresh", options->is_refresh, "measure this machine's ceilings again first");
  add_kv_options(*command, options->kv);
  command->footer(
      "The last column is the share of this machine's ceiling (takt bench roofline). MFU, of prefill: operations of "
      "the linear\n"
      "layers and attention, of what the int8 instructions could do. MBU, of decode: weights, keys and values read, "
      "of\n"
      "the read bandwidth.\n"
      "Examples:\n  takt bench model.gguf -p 512 -n 128 -r 5\n  takt bench model.gguf -p 0 -n 32 -d 0,4096 -t 1,2 -o "
      "jsonl\n  takt bench model.gguf --profile -d 4096");
  command->callback([options, command] {
    if (command->get_subcommands().empty()) bench(*options);
  });
}

}  // namespace takt::apps
