#include "log_sink.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/log.h"

namespace takt::apps {
namespace {

spdlog::level::level_enum spdlog_level(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::debug: return spdlog::level::debug;
    case base::LogLevel::info: return spdlog::level::info;
    case base::LogLevel::warning: return spdlog::level::warn;
    case base::LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

class SpdlogSink final : public base::LogSink {
 public:
  void write(base::LogLevel level, std::string_view message) override {
    // As an argument, not as the format: a message may hold braces.
    spdlog::log(spdlog_level(level), "{}", message);
  }
};

}  // namespace

void start_log(const std::string& level) {
  static SpdlogSink sink;
  auto logger = spdlog::stderr_color_mt("takt");
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  base::set_log_sink(&sink);
}

}  // namespace takt::apps
