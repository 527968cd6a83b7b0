// takt inspect: what is in a model file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "app_options.h"
#include "commands.h"
#include "describe_file.h"
#include "describe_run.h"
#include "session.h"

namespace takt::apps {
namespace {

struct Options {
  std::string path;
  bool is_json = false;
  bool lists_tensors = false;
  uint32_t context_tokens = 0;
  std::string kernels;
  KvOptions kv;
};

void run(const Options& options) {
  const auto file = open_model_file(options.path);
  const kernels::KernelSet* set = kernels::select_kernel_set(options.kernels);
  if (set == nullptr) fail("--kernels " + options.kernels + ": unknown, or not supported by this processor");
  const base::KvFormats kv = kv_formats(options.kv, *set);
  std::string text;
  if (options.is_json) {
    boost::json::object object = describe_json(*file, options.lists_tensors);
    object["run"] = describe_run_json(*file, *set, kv, options.context_tokens);
    text = boost::json::serialize(object) + "\n";
  } else {
    text = describe(*file, options.lists_tensors) + describe_run(*file, *set, kv, options.context_tokens);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show what is in a GGUF file, and check it");
  command->add_option("FILE", options->path, "The file; of a split model the first part")->required();
  add_flag(*command, "--json", options->is_json, "One JSON object instead of text");
  add_option(*command, "--ctx,-c", options->context_tokens, "Context length to compute memory for; 0: the model's own");
  add_option(*command, "--kernels", options->kernels, "Instruction set; empty: the best supported");
  add_kv_options(*command, options->kv);
  add_flag(*command, "--tensors", options->lists_tensors, "List every tensor too");
  command->footer(
      "Examples:\n"
      "  takt inspect model.gguf\n"
      "  takt inspect model.gguf --json --tensors | jq '.tensors[0]'");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
