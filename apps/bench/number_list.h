// Lists of numbers on the command line, as llama-bench reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace takt::apps {

inline constexpr int64_t kListNumberMax = 1 << 20;

// Repeats, commas and ranges: "8,16", "1-4", "16-64+16", "1-64*2". Fails the command, naming `option`, when a text is none of these,
// or a number is below `least` or above kListNumberMax.
std::vector<int64_t> numbers(const std::string& option, const std::vector<std::string>& texts, int64_t least = 0);

}  // namespace takt::apps
