// Where the libraries' log goes: stderr, through spdlog.
#pragma once

#include <string>

namespace takt::apps {

// Installs the process's log sink. level: "debug", "info", "warning" or "error". Call before threads start.
void start_log(const std::string& level);

}  // namespace takt::apps
