// tests/scenarios/*.txt: calls of the scheduler and the answers expected, in the format of worlds/call_text.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "worlds/replay.h"

namespace takt::tests {
namespace {

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TAKT_SOURCE_DIR "/tests/scenarios")) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, AnswersAsWritten) {
  const std::string path = std::string(TAKT_SOURCE_DIR) + "/tests/scenarios/" + GetParam() + ".txt";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  const auto report = worlds::replay(in, scheduler::make_scheduler);
  ASSERT_TRUE(report.ok()) << path << ": " << report.error().message;
  if (!report->is_identical()) {
    FAIL() << path << ":" << report->first_difference->line << "\n  written: " << report->first_difference->recorded
           << "\n  is:      " << report->first_difference->replayed;
  }
  EXPECT_GT(report->answers_equal, 3u);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace takt::tests
