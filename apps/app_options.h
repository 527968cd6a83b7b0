// How every command declares its options and fails.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/error.h"

namespace takt::apps {

// An option that can also be set by the environment: --ctx by TAKT_CTX, --top-k by TAKT_TOP_K. `names` as CLI11 takes them; the
// first long name gives the variable's.
template <class T>
CLI::Option* add_option(CLI::App& app, const std::string& names, T& target, const std::string& description);
CLI::Option* add_flag(CLI::App& app, const std::string& names, bool& target, const std::string& description);
// "--top-k,-k" -> "TAKT_TOP_K".
std::string environment_name(const std::string& option_names);

// Prints "takt: <message>" on stderr and leaves the command with exit code 1.
[[noreturn]] void fail(const base::Error& error);
[[noreturn]] void fail(const std::string& message);

template <class T>
CLI::Option* add_option(CLI::App& app, const std::string& names, T& target, const std::string& description) {
  return app.add_option(names, target, description)->envname(environment_name(names))->capture_default_str();
}

}  // namespace takt::apps
