#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace takt::apps {
namespace {
constexpr auto kQuiet = std::chrono::milliseconds(1000);  // work shorter than this shows nothing
constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::milliseconds(5000);
}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (has_shown_ && is_terminal_) std::fprintf(stderr, "\r\033[K");
}

void Progress::report(int64_t done, int64_t total) {
  const auto now = Clock::now();
  if (now - begin_ < kQuiet || now - shown_ < (is_terminal_ ? kTerminalInterval : kPlainInterval)) return;
  shown_ = now;
  has_shown_ = true;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
  const double left_s = share > 0.01 ? elapsed_s * (1 - share) / share : 0;
  std::fprintf(stderr, is_terminal_ ? "\r\033[K%s %3.0f %%, %.0f s left" : "%s %3.0f %%, %.0f s left\n", what_.c_str(),
               share * 100, left_s);
  std::fflush(stderr);
}

}  // namespace takt::apps
