// The loops that a machine's ceilings are measured with: nothing but the instruction in question, on registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace takt::apps {

// One arithmetic ceiling.
struct CeilingLoop {
  std::string_view name;             // "int8_avx2": what is computed, and with which instruction set
  std::string_view title;            // "int8 dot, AVX2"
  bool (*is_supported)();            // by this processor and operating system
  int64_t operations_per_iteration;  // a multiplication and an addition count two
  void (*run)(int64_t iterations);   // iterations > 0
};

// Those compiled in for this architecture, supported or not.
const std::vector<CeilingLoop>& ceiling_loops();

// Reads `lines` cache lines of 64 bytes from p on (64-byte aligned), asking ahead as the decode kernels do.
void read_lines(const std::byte* p, int64_t lines);

}  // namespace takt::apps
