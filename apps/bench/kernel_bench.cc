#include "bench/kernel_bench.h"

#include <algorithm>
#include <chrono>

namespace takt::apps {

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::int8: return "int8";
    case Bound::f32: return "f32";
    case Bound::memory: return "memory";
    case Bound::cache: return "cache";
  }
  return "";
}

double best_seconds(const std::function<void()>& work, double seconds) {
  double best = 1e30, total = 0;
  work();
  for (int i = 0; i < 3 || total < seconds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::min(best, taken), total += taken;
  }
  return best;
}

void set_share(const KernelBench& bench, Bound arithmetic, Bound traffic, KernelFigure& figure) {
  const Ceilings ceilings = ceilings_of(*bench.roofline, bench.set->name, figure.threads);
  const auto ceiling = [&](Bound bound) {
    switch (bound) {
      case Bound::int8: return ceilings.int8_per_s;
      case Bound::f32: return ceilings.float_per_s;
      case Bound::memory: return ceilings.read_bytes_per_s;
      case Bound::cache: return ceilings.read_cache_bytes_per_s;
    }
    return 0.0;
  };
  const double of_arithmetic = share_percent(figure.operations_per_s(), ceiling(arithmetic));
  const double of_traffic = share_percent(figure.bytes_per_s(), ceiling(traffic));
  figure.bound = of_arithmetic > of_traffic ? arithmetic : traffic;
  figure.share_percent = std::max(of_arithmetic, of_traffic);
}

void measure_kernels(const KernelBench& bench) {
  measure_linear(bench);
  measure_attention(bench);
  measure_row_operations(bench);
  measure_packing(bench);
}

}  // namespace takt::apps
