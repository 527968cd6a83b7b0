// `takt bench roofline`: this machine's ceilings.
#include <cstdio>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "bench/ceiling_loops.h"
#include "bench/roofline.h"

namespace takt::apps {
namespace {

struct RooflineOptions {
  bool is_refresh = false, is_json = false;
};

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string title_of(const std::string& rate) {
  for (const CeilingLoop& loop : ceiling_loops())
    if (loop.name == rate) return std::string(loop.title) + (rate.starts_with("int8") ? ", GOP/s" : ", GFLOP/s");
  return rate == kReadMemory ? "read from memory, GB/s" : "read from last-level cache, GB/s";
}

void print_table(const Roofline& roofline) {
  const Machine& machine = roofline.machine;
  std::printf("%s: %d cores, %d threads; %s\n", machine.processor.c_str(), machine.cores, machine.threads,
              list_of(machine.isa).c_str());
  for (const Cache& cache : machine.caches)
    std::printf("%sL%d %lld KiB", &cache == machine.caches.data() ? "caches: " : ", ", cache.level,
                static_cast<long long>(cache.bytes >> 10));
  std::printf("%smemory %.1f GB\n\n| %-34s |", machine.caches.empty() ? "" : "; ",
              static_cast<double>(machine.memory_bytes) * 1e-9, "ceiling");
  for (const ThreadCeilings& entry : roofline.ceilings)
    std::printf(" %3d thread%s |", entry.threads, entry.threads == 1 ? " " : "s");
  std::printf("\n| ---------------------------------- |");
  for (size_t i = 0; i < roofline.ceilings.size(); ++i) std::printf(" ----------: |");
  std::printf("\n");
  for (const auto& [name, rate] : roofline.ceilings.back().rates) {
    std::printf("| %-34s |", title_of(name).c_str());
    for (const ThreadCeilings& entry : roofline.ceilings) std::printf(" %11.1f |", entry.rates.at(name) * 1e-9);
    std::printf("\n");
  }
}

void run(const RooflineOptions& options) {
  const Roofline roofline = roofline_or_fail(options.is_refresh);
  if (options.is_json) {
    std::printf("%s\n", to_json(roofline).c_str());
    return;
  }
  print_table(roofline);
  std::printf("\nmeasured %s, kept in %s (--refresh measures again)\n", roofline.measured_at.c_str(),
              roofline_path(roofline.machine).c_str());
}

}  // namespace

Roofline roofline_or_fail(bool is_refresh) {
  if (!is_refresh)
    if (auto kept = try_load_roofline(detect_machine())) return *kept;
  auto roofline = measure_roofline([](const std::string& what) {
    std::fprintf(stderr, "measuring this machine's ceilings with %s\n", what.c_str());
  });
  if (!roofline) fail(roofline.error());
  if (auto status = store_roofline(*roofline); !status)
    std::fprintf(stderr, "takt: the ceilings are not kept: %s\n", status.error().message.c_str());
  return std::move(roofline).value();
}

void add_bench_roofline_command(CLI::App& bench) {
  auto* command = bench.add_subcommand("roofline", "Measure this machine's ceilings: arithmetic and memory");
  auto options = std::make_shared<RooflineOptions>();
  add_flag(*command, "--refresh", options->is_refresh, "measure again, even when figures are kept");
  add_flag(*command, "--json", options->is_json, "one JSON object on stdout");
  command->footer(
      "Each figure is the best of many short runs. Operations count a multiplication and an addition as two.\n"
      "Example:\n  takt bench roofline --refresh");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
