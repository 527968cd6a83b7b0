// `takt sim`: the simulator as a command of the one program.
#include "commands.h"
#include "sim/sim_command.h"

namespace takt::apps {

void add_sim_command(CLI::App& app) {
  make_sim_command(*app.add_subcommand("sim", "Run the scheduler in virtual time: what would clients have seen?"));
}

}  // namespace takt::apps
