#include <CLI/CLI.hpp>

#include "commands.h"

int main(int argc, char** argv) {
  CLI::App app("Takt: an inference server for large language models that treats prefill and decode as two jobs");
  app.require_subcommand(1);
  app.set_version_flag("--version", TAKT_VERSION);
  takt::apps::add_score_command(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
