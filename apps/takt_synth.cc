// takt synth: writes a synthetic model file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app_options.h"
#include "commands.h"
#include "gguf/synth.h"
#include "progress.h"

namespace takt::apps {
namespace {

std::string joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

struct Options {
  gguf::SynthSpec spec;
  std::string path;
};

void run(Options& options) {
  Progress progress("writing " + options.path);
  options.spec.progress = [&](uint64_t done_bytes, uint64_t total_bytes) {
    progress.report(static_cast<int64_t>(done_bytes), static_cast<int64_t>(total_bytes));
  };
  if (const auto status = gguf::write_synthetic(options.spec, options.path); !status) fail(status.error());
}

}  // namespace

void add_synth_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->spec.thread_count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  CLI::App* command = app.add_subcommand("synth", "Write a model file with seeded random weights");
  add_option(*command, "--like", options->spec.like, "Whose shape: " + joined(gguf::synth_model_names()));
  add_option(*command, "--quant", options->spec.quant, "Weight format: " + joined(gguf::synth_quant_names()));
  add_flag(*command, "--tiny", options->spec.is_tiny,
           "A few small layers and 512 tokens, with every feature of the model");
  add_option(*command, "--seed", options->spec.seed, "The same seed gives the same file");
  add_option(*command, "--threads", options->spec.thread_count, "Threads")->check(CLI::Range(1, 1024));
  command->add_option("OUT", options->path, "The file to write")->required();
  command->footer(
      "Examples:\n"
      "  takt synth --like gemma3-270m --quant Q8_0 --tiny tiny.gguf     a test model, a few MB\n"
      "  takt synth --like llama-3.1-8b --quant Q4_K_M 8b.gguf           full size, for benchmarks (4.9 GB)");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
