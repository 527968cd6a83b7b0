#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands.h"

namespace {

constexpr int kUsageExit = 2;  // as most programs have it

// llama-bench's two-letter options with one dash, which CLI11 would read as -p g.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 wants them reversed
    const std::string argument = argv[i];
    result.push_back(argument == "-pg" || argument == "-ub" ? "-" + argument : argument);
  }
  return result;
}

// CLI11 looks up the variables of every command, used or not: only those of the one that runs shall count.
void forget_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) option->envname("");
  for (CLI::App* subcommand : command.get_subcommands({})) forget_environment(*subcommand);
}

void limit_environment(CLI::App& app, const std::string& command) {
  for (CLI::App* subcommand : app.get_subcommands({}))
    if (subcommand->get_name() != command) forget_environment(*subcommand);
}

// "A subcommand is required" is a poor answer to a misspelt one.
void check_command(CLI::App& app, const std::string& command) {
  if (command.empty() || command[0] == '-') return;
  std::string names;
  for (const CLI::App* subcommand : app.get_subcommands({})) {
    if (subcommand->get_name() == command) return;
    names += (names.empty() ? "" : ", ") + subcommand->get_name();
  }
  throw CLI::ExtrasError("there is no command '" + command + "' (there are: " + names + ")",
                         CLI::ExitCodes::ExtrasError);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Takt: an inference server for large language models that treats prefill and decode as two jobs");
  app.name("takt");
  app.footer(
      "Examples:\n"
      "  takt run smollm2-135m \"Write a haiku about rain\"\n"
      "  takt serve model.gguf --port 8080\n"
      "  takt run --help");
  app.require_subcommand(1);
  app.set_version_flag("--version", TAKT_VERSION);
  takt::apps::add_run_command(app);
  takt::apps::add_chat_command(app);
  takt::apps::add_serve_command(app);
  takt::apps::add_explain_command(app);
  takt::apps::add_metrics_command(app);
  takt::apps::add_bench_command(app);
  takt::apps::add_inspect_command(app);
  takt::apps::add_tokenize_command(app);
  takt::apps::add_detokenize_command(app);
  takt::apps::add_template_command(app);
  takt::apps::add_score_command(app);
  takt::apps::add_sim_command(app);
  takt::apps::add_synth_command(app);
  limit_environment(app, argc > 1 ? argv[1] : "");
  try {
    check_command(app, argc > 1 ? argv[1] : "");
    app.parse(arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 || dynamic_cast<const CLI::RuntimeError*>(&error) != nullptr ? code : kUsageExit;
  } catch (const std::exception& error) {  // out of memory, mostly: nothing of ours throws
    std::fprintf(stderr, "takt: %s\n", error.what());
    return 1;
  }
  // What could not be written must not look like success (a full disk).
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "takt: the output could not be written\n");
    return 1;
  }
  return 0;
}
