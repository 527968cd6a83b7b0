// What this machine is, as far as its speed goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace takt::apps {

struct Cache {
  int level = 0;
  int64_t bytes = 0;  // of one
  bool operator==(const Cache&) const = default;
};

struct Machine {
  std::string processor;         // its own name, with family, model and stepping where the system tells them
  int threads = 1;               // that this process may run at once
  int cores = 1;                 // behind them; as many as threads when the system does not tell
  std::vector<std::string> isa;  // the instruction sets that matter here, least first: "sse2", "avx2", …
  std::vector<Cache> caches;     // of data, by level
  int64_t memory_bytes = 0;
  bool operator==(const Machine&) const = default;

  // Bytes of the largest cache; 0 when unknown.
  int64_t last_cache_bytes() const { return caches.empty() ? 0 : caches.back().bytes; }
};

Machine detect_machine();

// The processor's name as it calls itself ("unknown" where it does not).
std::string processor_name();

}  // namespace takt::apps
