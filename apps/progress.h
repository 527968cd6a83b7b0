// A progress line on stderr: rewritten in place on a terminal, one plain line every few seconds otherwise, nothing for work that is
// done within a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace takt::apps {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  // done and total in any unit; may be called as often as one likes.
  void report(int64_t done, int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool is_terminal_;
  bool has_shown_ = false;
};

}  // namespace takt::apps
