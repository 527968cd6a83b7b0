#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands.h"

namespace {

// llama-bench's two-letter options with one dash, which CLI11 would read as -p g.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 wants them reversed
    const std::string argument = argv[i];
    result.push_back(argument == "-pg" || argument == "-ub" ? "-" + argument : argument);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Takt: an inference server for large language models that treats prefill and decode as two jobs");
  app.name("takt");
  app.require_subcommand(1);
  app.set_version_flag("--version", TAKT_VERSION);
  takt::apps::add_run_command(app);
  takt::apps::add_chat_command(app);
  takt::apps::add_serve_command(app);
  takt::apps::add_bench_command(app);
  takt::apps::add_inspect_command(app);
  takt::apps::add_tokenize_command(app);
  takt::apps::add_detokenize_command(app);
  takt::apps::add_score_command(app);
  takt::apps::add_synth_command(app);
  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {  // out of memory, mostly: nothing of ours throws
    std::fprintf(stderr, "takt: %s\n", error.what());
    return 1;
  }
  return 0;
}
