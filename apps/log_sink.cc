#include "log_sink.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "base/log.h"
#include "server/http/json_writer.h"

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

std::string_view name(base::LogLevel level) {
  static constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<size_t>(level)];
}

// UTC, with milliseconds.
std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t second = std::chrono::system_clock::to_time_t(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&second, &utc);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%03dZ", date, static_cast<int>(ms));
  return text;
}

std::string json_line(base::LogLevel level, std::string_view message, std::string_view request) {
  server::JsonWriter json;
  json.begin_object().key("time").string(time_now()).key("level").string(name(level));
  if (!request.empty()) json.key("request").string(server::replace_invalid_utf8(request));
  json.key("message").string(server::replace_invalid_utf8(message)).end_object();
  return json.take();
}

class SpdlogSink final : public base::LogSink {
 public:
  void start(LogFormat format) {
    format_ = format;
    is_terminal_ = isatty(STDERR_FILENO) == 1 && format == LogFormat::text;
  }

  void write(base::LogLevel level, std::string_view message, std::string_view request) override {
    const std::lock_guard lock(mutex_);
    erase_status();
    // As an argument, not as the format: a message may hold braces.
    if (format_ == LogFormat::json) {
      spdlog::log(spdlog_level(level), "{}", json_line(level, message, request));
    } else if (request.empty()) {
      spdlog::log(spdlog_level(level), "{}", message);
    } else {
      spdlog::log(spdlog_level(level), "request {} {}", request, message);
    }
    draw_status();
  }

  void show(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!is_terminal_) return;
    erase_status();
    status_ = line;
    draw_status();
  }
  bool is_terminal() const { return is_terminal_; }

 private:
  void erase_status() {
    if (!status_.empty()) std::fputs("\r\x1b[K", stderr);
  }
  void draw_status() {
    if (!status_.empty()) std::fputs(status_.c_str(), stderr);
  }

  std::mutex mutex_;
  LogFormat format_ = LogFormat::text;
  bool is_terminal_ = false;
  std::string status_;
};

SpdlogSink& sink() {
  static SpdlogSink instance;
  return instance;
}

}  // namespace

void start_log(const std::string& level, LogFormat format) {
  sink().start(format);
  auto logger = spdlog::stderr_color_mt("takt");
  logger->set_pattern(format == LogFormat::json ? "%v" : "%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  base::set_log_sink(&sink());
}

void show_status(const std::string& line) { sink().show(line); }

bool can_show_status() { return sink().is_terminal(); }

}  // namespace takt::apps
