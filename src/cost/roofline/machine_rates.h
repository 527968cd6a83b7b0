// What a machine can do, in the few numbers that a roofline needs.
#pragma once

#include <cstdint>

namespace takt::cost {

// Sustained rates, not peaks. The defaults are a two-core Zen 4 server with AVX-512 VNNI: 30 GB/s from memory, and of
// 890 int8 operations per ns (a multiply and an add count two) about half in real matrix products; float32 attention
// about 100.
struct MachineRates {
  int64_t memory_bytes_per_us = 30'000;
  int64_t linear_ops_per_us = 450'000;
  int64_t attention_ops_per_us = 100'000;
  int64_t step_overhead_us = 150;  // once a step: planning, hand-over between threads, barriers
  int64_t sample_us = 60;          // once a row that yields a token: logits to token, stop strings, text
};

}  // namespace takt::cost
