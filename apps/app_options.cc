#include "app_options.h"

#include <cctype>
#include <cstdio>

namespace takt::apps {

std::string environment_name(const std::string& option_names) {
  const size_t begin = option_names.find("--");
  std::string name = "TAKT_";
  for (size_t i = begin + 2; i < option_names.size() && option_names[i] != ',' && option_names[i] != '{'; ++i)
    name += option_names[i] == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(option_names[i])));
  return name;
}

CLI::Option* add_flag(CLI::App& app, const std::string& names, bool& target, const std::string& description) {
  return app.add_flag(names, target, description)->envname(environment_name(names));
}

void fail(const base::Error& error) { fail(error.message); }

void fail(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "takt: %s\n", message.c_str());
  throw CLI::RuntimeError(1);
}

}  // namespace takt::apps
