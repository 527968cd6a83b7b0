// takt-sim: `takt sim` as a program of its own, which links no engine, no model and no kernels.
#include <CLI/CLI.hpp>

#include <cstdio>

#include "sim/sim_command.h"

int main(int argc, char** argv) {
  CLI::App app{"Runs Takt's scheduler in virtual time and says what clients would have seen.", "takt-sim"};
  takt::apps::make_sim_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  // What could not be written must not look like success (a full disk).
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "takt-sim: the output could not be written\n");
    return 1;
  }
  return 0;
}
