// Speed of single kernels: every kernel × format × shape × row count, as shares of the machine's ceilings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "bench/roofline.h"
#include "kernels/kernel_set.h"

namespace takt::apps {

// What a figure is held against: the higher of its shares of these.
enum class Bound : uint8_t { int8, f32, memory, cache };
std::string_view name(Bound bound);

struct KernelFigure {
  std::string name;  // "linear Q4_K 4864x896 rows 8": unique, and the same in every run
  int threads = 1;
  double seconds = 0;     // of one call for all of its rows; the best of several
  double operations = 0;  // a multiplication and an addition count two; 0: not counted
  double bytes = 0;       // read (and written, for row operations)
  double share_percent = 0;
  Bound bound = Bound::memory;
  double times_reference = 0;  // speed over that of set "ref" at the same work; 0: not compared

  double operations_per_s() const { return operations / seconds; }
  double bytes_per_s() const { return bytes / seconds; }
};

struct KernelBench {
  const kernels::KernelSet* set = nullptr;
  base::ThreadPool* pool = nullptr;  // linear layers run on all of its threads; attention, rows and packing on one
  const Roofline* roofline = nullptr;
  std::function<bool(const std::string& name)> is_wanted;
  std::function<void(const KernelFigure&)> on_figure;
};

// Linear layers: weights of the models' shapes, as many copies in turn as exceed the last-level cache (beyond 64 rows one), through the
// kernel of the row count. Each figure is the best of several runs.
void measure_linear(const KernelBench& bench);
// One thread each, over what a cache holds: attention by phase and depth, row operations, storing keys and values, packing.
void measure_attention(const KernelBench& bench);
void measure_row_operations(const KernelBench& bench);
void measure_packing(const KernelBench& bench);
// All of them.
void measure_kernels(const KernelBench& bench);

// ---- for the parts above
// The best time of `work`: at least three runs, and as many as fit into `seconds`.
double best_seconds(const std::function<void()>& work, double seconds = 0.02);
// Fills share_percent and bound from the ceilings of the figure's threads.
void set_share(const KernelBench& bench, Bound arithmetic, Bound traffic, KernelFigure& figure);

}  // namespace takt::apps
