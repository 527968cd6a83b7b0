#include "base/log.h"

#include <atomic>

namespace takt::base {
namespace {
std::atomic<LogSink*> process_sink{nullptr};
}

void set_log_sink(LogSink* sink) { process_sink.store(sink); }

void log(LogLevel level, std::string_view message, std::string_view request) {
  if (LogSink* sink = process_sink.load()) sink->write(level, message, request);
}

}  // namespace takt::base
