// The logging port. Libraries write here; apps/ decide where it goes (spdlog). Without a sink nothing is written.
#pragma once

#include <string_view>

namespace takt::base {

enum class LogLevel { debug, info, warning, error };

class LogSink {
 public:
  virtual ~LogSink() = default;
  // May be called from any thread. `request`: the public id of the request it is about; empty: none.
  virtual void write(LogLevel level, std::string_view message, std::string_view request) = 0;
};

// Sets the process's sink (nullptr: none). The sink must outlive its use. Call it before threads start.
void set_log_sink(LogSink* sink);
void log(LogLevel level, std::string_view message, std::string_view request = {});

}  // namespace takt::base
