// The subcommands of `takt`, one file each (takt_<name>.cc).
#pragma once

#include <CLI/CLI.hpp>

namespace takt::apps {

void add_run_command(CLI::App& app);
void add_chat_command(CLI::App& app);
void add_serve_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_metrics_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_score_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_sim_command(CLI::App& app);
void add_synth_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_detokenize_command(CLI::App& app);
void add_template_command(CLI::App& app);

}  // namespace takt::apps
