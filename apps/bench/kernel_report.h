// Figures of kernel_bench.h for people, for programs, and against an earlier run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/kernel_bench.h"

namespace takt::apps {

struct KernelRun {
  std::string processor, kernel_set;
  int threads = 0;
  std::vector<KernelFigure> figures;
};

// One line of the table, and the two lines above the first.
std::string table_header();
std::string table_line(const KernelFigure& figure);

std::string to_json(const KernelRun& run);
// Errors: invalid_file, naming the field.
base::Result<KernelRun> kernel_run_of_json(std::string_view text);

// Why two runs cannot be compared (another processor, kernel set or number of threads); empty: they can.
std::string why_not_comparable(const KernelRun& now, const KernelRun& before);

struct Slowdown {
  std::string name;
  double speed_percent = 0;  // of the earlier speed
};
// Cases of both runs whose speed now is below 100 - noise_percent percent of the earlier one, the worst first.
std::vector<Slowdown> slowdowns(const KernelRun& now, const KernelRun& before, double noise_percent);

}  // namespace takt::apps
