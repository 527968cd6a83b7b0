// `takt bench kernels`: the speed of single kernels, and what got slower since a stored run.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "bench/kernel_report.h"

namespace takt::apps {
namespace {

// A neighbour on a shared machine can take that much of a figure's best of several runs; what is slower than that is measured again
// before it is called slower.
constexpr double kNoisePercent = 15;
constexpr int kSecondLooks = 3;

struct KernelsCommand {
  std::vector<std::string> filter;
  std::string kernels, json, baseline;
  double noise_percent = kNoisePercent;
  int threads = 0;
  bool is_refresh = false;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return text;
}

// Every word occurs: whole words only, so that "rows 1" is not "rows 16".
bool matches(const std::string& name, const std::vector<std::string>& words) {
  const std::string padded = " " + lower(name) + " ";
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return padded.find(" " + lower(word) + " ") != std::string::npos;
  });
}

KernelRun read_baseline(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("--baseline " + path + ": cannot be read");
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  auto run = kernel_run_of_json(text);
  if (!run) fail("--baseline " + path + ": " + run.error().message);
  return std::move(run).value();
}

// Measures again what seems slower, and keeps the better figure.
void look_again(KernelBench bench, KernelRun& run, const KernelRun& before, double noise_percent) {
  for (int look = 0; look < kSecondLooks; ++look) {
    const auto slower = slowdowns(run, before, noise_percent);
    if (slower.empty()) return;
    bench.is_wanted = [&](const std::string& name) {
      return std::any_of(slower.begin(), slower.end(), [&](const Slowdown& entry) { return entry.name == name; });
    };
    bench.on_figure = [&](const KernelFigure& figure) {
      for (KernelFigure& kept : run.figures)
        if (kept.name == figure.name && figure.seconds < kept.seconds) kept = figure;
    };
    measure_kernels(bench);
  }
}

void compare(const KernelBench& bench, KernelRun& run, const KernelRun& before, double noise_percent) {
  look_again(bench, run, before, noise_percent);
  const auto slower = slowdowns(run, before, noise_percent);
  for (const Slowdown& entry : slower)
    std::printf("slower: %-46s %5.1f %% of the baseline's speed\n", entry.name.c_str(), entry.speed_percent);
  if (!slower.empty())
    fail(std::to_string(slower.size()) + " kernels are slower than the baseline by more than the noise");
  std::printf("none is slower than the baseline by more than %g %%\n", noise_percent);
}

void run(const KernelsCommand& command) {
  KernelBench bench;
  bench.set = kernels::select_kernel_set(command.kernels);
  if (bench.set == nullptr) fail("--kernels " + command.kernels + ": unknown, or not supported by this processor");
  KernelRun before;
  if (!command.baseline.empty()) before = read_baseline(command.baseline);
  const Roofline roofline = roofline_or_fail(command.is_refresh);
  base::ThreadPool pool(command.threads > 0 ? command.threads : roofline.machine.threads);
  KernelRun now{roofline.machine.processor, std::string(bench.set->name), pool.thread_count(), {}};
  if (!command.baseline.empty())
    if (const std::string why = why_not_comparable(now, before); !why.empty())
      fail("--baseline " + command.baseline + ": " + why);
  bench.pool = &pool;
  bench.roofline = &roofline;
  bench.is_wanted = [&](const std::string& name) { return matches(name, command.filter); };
  bench.on_figure = [&](const KernelFigure& figure) {
    if (now.figures.empty()) std::fputs(table_header().c_str(), stdout);
    std::fputs(table_line(figure).c_str(), stdout);
    std::fflush(stdout);
    now.figures.push_back(figure);
  };
  measure_kernels(bench);
  if (now.figures.empty()) fail("no kernel's name has all of these words; without a filter all are shown");
  if (!command.json.empty()) {
    std::ofstream stream(command.json, std::ios::trunc);
    if (!(stream << to_json(now)).flush()) fail("--json " + command.json + ": cannot be written");
  }
  if (!command.baseline.empty()) compare(bench, now, before, command.noise_percent);
}

}  // namespace

void add_bench_kernels_command(CLI::App& bench) {
  auto* command = bench.add_subcommand("kernels", "Speed of every kernel, format, shape and row count");
  auto options = std::make_shared<KernelsCommand>();
  command->add_option("FILTER", options->filter, "words that must all occur in a kernel's name: linear q4_k rows 8");
  add_option(*command, "-t,--threads", options->threads, "threads of linear layers; 0: one a core")
      ->check(CLI::Range(0, 256));
  add_option(*command, "--kernels", options->kernels, "instruction set; empty: the best supported");
  add_flag(*command, "--refresh", options->is_refresh, "measure this machine's ceilings again first");
  add_option(*command, "--json", options->json, "also write the figures into this file");
  add_option(*command, "--baseline", options->baseline,
             "a file of --json: exit with 1 when a kernel got slower, and say which");
  add_option(*command, "--noise", options->noise_percent, "percent of its speed that a kernel may lose unnoticed")
      ->check(CLI::Range(0.0, 99.0));
  command->footer(
      "Every figure is the best of several runs. Linear layers read weights from memory up to 64 rows; \"x ref\" is "
      "the\n"
      "speed over the plain reference at the same work. Everything takes about two minutes.\n"
      "Examples:\n  takt bench kernels --json before.json\n  takt bench kernels linear Q4_K 4864x896\n"
      "  takt bench kernels --baseline before.json");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
