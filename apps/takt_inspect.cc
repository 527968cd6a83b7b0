// takt inspect: what is in a model file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "app_options.h"
#include "commands.h"
#include "describe_file.h"
#include "gguf/file.h"

namespace takt::apps {
namespace {

struct Options {
  std::string path;
  bool is_json = false;
  bool lists_tensors = false;
};

void run(const Options& options) {
  const auto file = gguf::File::open(options.path);
  if (!file) fail(file.error());
  const std::string text = options.is_json ? boost::json::serialize(describe_json(**file, options.lists_tensors)) + "\n"
                                           : describe(**file, options.lists_tensors);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show what is in a GGUF file, and check it");
  command->add_option("FILE", options->path, "The file; of a split model the first part")->required();
  add_flag(*command, "--json", options->is_json, "One JSON object instead of text");
  add_flag(*command, "--tensors", options->lists_tensors, "List every tensor too");
  command->footer(
      "Examples:\n"
      "  takt inspect model.gguf\n"
      "  takt inspect model.gguf --json --tensors | jq '.tensors[0]'");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
