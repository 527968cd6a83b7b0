// `takt sim`: the scheduler in virtual time. Needs no model, no weights and no kernels: this folder links none, and the
// program takt-sim is nothing but it.
#pragma once

#include <CLI/CLI.hpp>

namespace takt::apps {

// Gives `app` (a subcommand or a whole program) the simulator's options and its work.
void make_sim_command(CLI::App& app);

}  // namespace takt::apps
