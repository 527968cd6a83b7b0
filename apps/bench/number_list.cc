#include "bench/number_list.h"

#include <algorithm>

#include "app_options.h"

namespace takt::apps {
namespace {

[[noreturn]] void fail_list(const std::string& option, const std::string& text) {
  fail(option + " " + text +
       ": expected numbers, lists (8,16) or ranges (first-last, first-last+step, first-last*factor)");
}

int64_t number_of(const std::string& option, const std::string& text, size_t begin, size_t end) {
  int64_t value = 0;
  if (begin >= end || end - begin > 9) fail_list(option, text);
  for (size_t i = begin; i < end; ++i) {
    if (text[i] < '0' || text[i] > '9') fail_list(option, text);
    value = value * 10 + (text[i] - '0');
  }
  if (value > kListNumberMax) fail(option + " " + text + ": at most " + std::to_string(kListNumberMax));
  return value;
}

void append_range(const std::string& option, const std::string& text, std::vector<int64_t>& out) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return out.push_back(number_of(option, text, 0, text.size()));
  const size_t step_at = text.find_first_of("+*", dash);
  const int64_t first = number_of(option, text, 0, dash),
                last = number_of(option, text, dash + 1, std::min(step_at, text.size()));
  const int64_t step = step_at == std::string::npos ? 1 : number_of(option, text, step_at + 1, text.size());
  const bool is_product = step_at != std::string::npos && text[step_at] == '*';
  if (step == 0 || last < first || (is_product && (step < 2 || first == 0))) fail_list(option, text);
  for (int64_t value = first; value <= last && out.size() < 10000; value = is_product ? value * step : value + step)
    out.push_back(value);
}

}  // namespace

std::vector<int64_t> numbers(const std::string& option, const std::vector<std::string>& texts, int64_t least) {
  std::vector<int64_t> values;
  for (const std::string& text : texts)
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      append_range(option, text.substr(begin, end - begin), values);
      begin = end + 1;
    }
  for (int64_t value : values)
    if (value < least) fail(option + ": " + std::to_string(value) + " is less than " + std::to_string(least));
  return values;
}

}  // namespace takt::apps
