// `takt bench`: llama-bench's options and columns.
#include <algorithm>
#include <cstdlib>

#include "app_options.h"
#include "bench/bench_table.h"
#include "bench/throughput.h"
#include "commands.h"
#include "kernels/kernel_set.h"
#include "session.h"

namespace takt::apps {
namespace {

constexpr int64_t kTokensMax = 1 << 20;

struct BenchOptions {
  std::string model, kernels, output = "md";
  std::vector<std::string> prompt = {"512"}, generate = {"128"}, pairs, depth = {"0"}, batch = {"2048"},
                           chunk = {"512"}, threads;
  int repetitions = 5;
};

[[noreturn]] void fail_list(const std::string& option, const std::string& text) {
  fail(option + " " + text +
       ": expected numbers, lists (8,16) or ranges (first-last, first-last+step, first-last*factor)");
}

int64_t number_of(const std::string& option, const std::string& text, size_t begin, size_t end) {
  int64_t value = 0;
  if (begin >= end || end - begin > 9) fail_list(option, text);
  for (size_t i = begin; i < end; ++i) {
    if (text[i] < '0' || text[i] > '9') fail_list(option, text);
    value = value * 10 + (text[i] - '0');
  }
  if (value > kTokensMax) fail(option + " " + text + ": at most " + std::to_string(kTokensMax));
  return value;
}

void append_range(const std::string& option, const std::string& text, std::vector<int64_t>& out) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return out.push_back(number_of(option, text, 0, text.size()));
  const size_t step_at = text.find_first_of("+*", dash);
  const int64_t first = number_of(option, text, 0, dash),
                last = number_of(option, text, dash + 1, std::min(step_at, text.size()));
  const int64_t step = step_at == std::string::npos ? 1 : number_of(option, text, step_at + 1, text.size());
  const bool is_product = step_at != std::string::npos && text[step_at] == '*';
  if (step == 0 || last < first || (is_product && (step < 2 || first == 0))) fail_list(option, text);
  for (int64_t value = first; value <= last && out.size() < 10000; value = is_product ? value * step : value + step)
    out.push_back(value);
}

// Repeats, commas and ranges, as llama-bench reads them.
std::vector<int64_t> numbers(const std::string& option, const std::vector<std::string>& texts, int64_t least = 0) {
  std::vector<int64_t> values;
  for (const std::string& text : texts)
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      append_range(option, text.substr(begin, end - begin), values);
      begin = end + 1;
    }
  for (int64_t value : values)
    if (value < least) fail(option + ": " + std::to_string(value) + " is less than " + std::to_string(least));
  return values;
}

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

void bench(const BenchOptions& options) {
  const kernels::KernelSet* set = kernels::select_kernel_set(options.kernels);
  if (set == nullptr) fail("--kernels " + options.kernels + ": unknown, or not supported by this processor");
  const auto file = open_model_file(options.model);
  std::vector<int64_t> threads = numbers("-t", options.threads, 1);
  if (threads.empty()) threads.push_back(std::max(1u, std::thread::hardware_concurrency()));
  std::shared_ptr<const model::Model> model;
  {
    base::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    auto loaded = model::load_model(file, *set, pool);
    if (!loaded) fail(options.model + ": " + loaded.error().message);
    model = std::move(loaded).value();
  }
  BenchTable table(options.output, file->path(), *model);
  for (int64_t count : threads) {
    base::ThreadPool pool(static_cast<int>(std::clamp<int64_t>(count, 1, 256)));
    for (const ThroughputTest& test : tests_of(options))
      table.add(measure_throughput(model, pool, test, options.repetitions));
  }
  table.finish();
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench", "Measure prefill and decode speed, with llama-bench's options and columns");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("MODEL,-m,--model", options->model, "a GGUF file, or the short name of a model in the cache")
      ->required();
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
  command->footer(
      "Examples:\n  takt bench model.gguf -p 512 -n 128 -r 5\n  takt bench model.gguf -p 0 -n 32 -d 0,4096 -t 1,2 -o "
      "jsonl");
  command->callback([options] { bench(*options); });
}

}  // namespace takt::apps
