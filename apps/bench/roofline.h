// A machine's ceilings, measured: what a figure is a share of. Kept in a file of the cache folder, since measuring takes seconds.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/machine.h"

namespace takt::apps {

// What so many threads reach together, by name: those of ceiling_loops() in operations/s (a multiplication and an addition count
// two), kReadMemory and kReadCache in bytes/s. A name that this machine has no instruction for is absent.
struct ThreadCeilings {
  int threads = 1;
  std::map<std::string, double> rates;
};
inline constexpr const char* kReadMemory = "read_memory";  // from far more bytes than the caches hold
inline constexpr const char* kReadCache = "read_cache";    // from a quarter of the last-level cache

struct Roofline {
  Machine machine;
  std::string measured_at;               // UTC, ISO 8601
  std::vector<ThreadCeilings> ceilings;  // ascending threads; the last has all of the machine's
};

// The ceilings of one kernel set with so many threads; 0: not known.
struct Ceilings {
  double int8_per_s = 0;
  double float_per_s = 0;
  double read_bytes_per_s = 0;
  double read_cache_bytes_per_s = 0;
};
// Sets that have no instructions of their own ("portable", "ref") are held against the best that the machine has. Between thread
// counts that were measured: linear; beyond the last: the last.
Ceilings ceilings_of(const Roofline& roofline, std::string_view kernel_set, int threads);

// 1, 2, 4, … and `threads`.
std::vector<int> thread_counts_up_to(int threads);

// Measures all ceilings; about a second for each thread count. Each is the best of many short runs, because neighbours on a
// shared machine only ever slow a run down. Errors: out_of_memory.
base::Result<Roofline> measure_roofline(const std::function<void(const std::string&)>& on_progress);

std::string to_json(const Roofline& roofline);
// Errors: invalid_file, naming the field.
base::Result<Roofline> roofline_of_json(std::string_view text);

// <cache>/rooflines/<processor>-<threads>-<instruction sets>.json
std::filesystem::path roofline_path(const Machine& machine);
// The one kept for this very machine; nothing when there is none, or it is of another machine or cannot be read.
std::optional<Roofline> try_load_roofline(const Machine& machine);
// Errors: io.
base::Status store_roofline(const Roofline& roofline);

// "27 % of the int8 ceiling" and the like are shares in percent; 0 ceiling: 0.
inline double share_percent(double rate, double ceiling) { return ceiling > 0 ? 100 * rate / ceiling : 0; }

}  // namespace takt::apps
