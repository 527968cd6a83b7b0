// Where the libraries' log goes: stderr, through spdlog; and the one line on a terminal that says what is going on now.
#pragma once

#include <string>

namespace takt::apps {

enum class LogFormat { text, json };

// Installs the process's log sink. level: "debug", "info", "warning" or "error". Call before threads start.
void start_log(const std::string& level, LogFormat format = LogFormat::text);

// Shows the line below the log in place of the one before; empty: none. Only where stderr is a terminal and the log is text.
void show_status(const std::string& line);
bool can_show_status();

}  // namespace takt::apps
