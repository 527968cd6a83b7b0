#include "bench/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "kernels/isa/cpu_features.h"

namespace takt::apps {
namespace {

// The value of the first line "key : value" of /proc/cpuinfo.
std::string cpu_field(const std::string& key) {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(": "), end = line.find_first_of("\t:");
    if (colon != std::string::npos && line.substr(0, end) == key) return line.substr(colon + 2);
  }
  return {};
}

std::string first_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

int usable_threads() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int usable_cores(int threads) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string siblings =
        first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    if (siblings.empty()) break;
    cores.insert(siblings);
  }
  return cores.empty() ? threads : std::min(threads, static_cast<int>(cores.size()));
}

// "32768K" -> bytes.
int64_t size_of(const std::string& text) {
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && i < 10 && text[i] >= '0' && text[i] <= '9'; ++i) value = value * 10 + (text[i] - '0');
  if (i < text.size() && text[i] == 'K') value <<= 10;
  if (i < text.size() && text[i] == 'M') value <<= 20;
  return value;
}

std::vector<Cache> data_caches() {
  std::vector<Cache> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string type = first_line(folder + "type"), level = first_line(folder + "level");
    if (level.size() != 1 || (type != "Data" && type != "Unified")) continue;
    if (const int64_t bytes = size_of(first_line(folder + "size")); bytes > 0)
      caches.push_back({level[0] - '0', bytes});
  }
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) { return a.level < b.level; });
  return caches;
}

}  // namespace

std::string processor_name() {
  const std::string name = cpu_field("model name");
  return name.empty() ? "unknown" : name;
}

Machine detect_machine() {
  Machine machine;
  machine.processor = processor_name();
  // Virtual machines often have a name without a number: what tells generations apart then.
  if (const std::string family = cpu_field("cpu family"); !family.empty())
    machine.processor +=
        " (family " + family + ", model " + cpu_field("model") + ", stepping " + cpu_field("stepping") + ")";
  machine.threads = usable_threads();
  machine.cores = usable_cores(machine.threads);
#if defined(__x86_64__)
  machine.isa.push_back("sse2");
#endif
  if (kernels::has_avx2()) machine.isa.push_back("avx2");
  if (kernels::has_avx_vnni()) machine.isa.push_back("avxvnni");
  if (kernels::has_avx512_vnni()) machine.isa.push_back("avx512vnni");
  if (kernels::has_avx512_bf16()) machine.isa.push_back("avx512bf16");
  machine.caches = data_caches();
  machine.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  return machine;
}

}  // namespace takt::apps
