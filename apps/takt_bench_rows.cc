// `takt bench rows`: decode speed against the rows that decode together.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "bench/number_list.h"
#include "bench/rows.h"
#include "session.h"

namespace takt::apps {
namespace {

constexpr int64_t kRowsMax = 1024;

struct RowsCommand {
  RowsOptions rows;
  std::vector<std::string> counts = {"1,2,3,4,6,8,12,16,24,32,48,64"};
  std::string model, kernels, svg;
  int threads = 0;
  bool is_json = false, is_refresh = false;
};

void run(RowsCommand& command) {
  const kernels::KernelSet* set = kernels::select_kernel_set(command.kernels);
  if (set == nullptr) fail("--kernels " + command.kernels + ": unknown, or not supported by this processor");
  auto& counts = command.rows.row_counts;
  counts = numbers("--rows", command.counts, 1);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.empty()) fail("--rows: no number is given");
  if (counts.back() > kRowsMax) fail("--rows: at most " + std::to_string(kRowsMax));
  const auto file = open_model_file(command.model);
  const Roofline roofline = roofline_or_fail(command.is_refresh);
  const auto model = load_for_bench(file, *set);
  base::ThreadPool pool(command.threads > 0 ? command.threads : roofline.machine.threads);
  const RowsReport report = measure_rows(model, pool, roofline, command.rows);
  if (!command.svg.empty()) {
    std::ofstream stream(command.svg, std::ios::trunc);
    if (!(stream << rows_svg(report)).flush()) fail("--svg " + command.svg + ": cannot be written");
  }
  std::fputs((command.is_json ? rows_json(report) : rows_table(report)).c_str(), stdout);
}

}  // namespace

void add_bench_rows_command(CLI::App& bench) {
  auto* command = bench.add_subcommand("rows", "Decode speed against the number of rows that decode together");
  auto options = std::make_shared<RowsCommand>();
  command->add_option("MODEL,-m,--model", options->model, "a GGUF file, or the short name of a model in the cache")
      ->required();
  add_option(*command, "--rows", options->counts, "row counts (lists and ranges)");
  add_option(*command, "-d,--depth", options->rows.depth, "tokens of each sequence in the KV cache before")
      ->check(CLI::Range(0, 1 << 20));
  add_option(*command, "--steps", options->rows.steps, "steps of each count in a repetition")
      ->check(CLI::Range(1, 1000));
  add_option(*command, "-r,--repetitions", options->rows.repetitions, "repetitions; each takes all counts in turn")
      ->check(CLI::Range(1, 1000));
  add_option(*command, "-t,--threads", options->threads, "threads; 0: one a core")->check(CLI::Range(0, 256));
  add_option(*command, "--kernels", options->kernels, "instruction set; empty: the best supported");
  add_flag(*command, "--refresh", options->is_refresh, "measure this machine's ceilings again first");
  add_flag(*command, "--json", options->is_json, "one JSON object on stdout");
  add_option(*command, "--svg", options->svg, "also draw the curves into this file");
  command->footer(
      "The roofline column is the cost model with nothing but the machine's ceilings: what no program can exceed.\n"
      "Example:\n  takt bench rows smollm2-135m --svg rows.svg");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
