// `takt metrics`: the metric dictionary, as docs/METRICS.md has it.
#include <cstdio>

#include "commands.h"
#include "server/metrics/metric_table.h"

namespace takt::apps {

void add_metrics_command(CLI::App& app) {
  auto* command = app.add_subcommand("metrics", "Print what every metric means, as Markdown");
  command->footer("Example:\n  takt metrics > docs/METRICS.md");
  command->callback([] { std::fputs(server::metrics_markdown().c_str(), stdout); });
}

}  // namespace takt::apps
