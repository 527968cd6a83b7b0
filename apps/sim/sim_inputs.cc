#include "sim/sim_inputs.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "app_options.h"
#include "worlds/call_text.h"
#include "worlds/sim/trace_files.h"

namespace takt::apps {
namespace {

std::ifstream open(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot open " + path);
  return in;
}

template <class T>
T or_fail(const std::string& path, base::Result<T> result) {
  if (!result.ok()) fail(path + ": " + result.error().message);
  return std::move(result).value();
}

}  // namespace

Trace read_trace(const std::string& path) {
  std::ifstream in = open(path);
  std::string first;
  std::getline(in, first);
  in.clear();
  in.seekg(0);
  Trace trace;
  if (first.starts_with("TIMESTAMP")) {
    trace.arrivals = or_fail(path, worlds::parse_azure_csv(in));
  } else if (first.starts_with("{")) {
    trace.arrivals = or_fail(path, worlds::parse_mooncake_jsonl(in));
  } else if (first.starts_with("takt-recording")) {
    trace.recorded = or_fail(path, worlds::read_recorded_run(in));
    trace.arrivals = worlds::arrivals_of(*trace.recorded);
  } else {
    fail(path +
         ": neither a trace of Azure (a CSV file with a TIMESTAMP column) nor of Mooncake (JSONL), nor a recording (" +
         std::string(worlds::kRecordingHeader) + ")");
  }
  if (trace.arrivals.empty()) fail(path + ": no request in it");
  return trace;
}

worlds::RecordedRun read_recording(const std::string& path) {
  std::ifstream in = open(path);
  return or_fail(path, worlds::read_recorded_run(in));
}

cost::CostCoefficients read_cost(const std::string& path) {
  std::ifstream in = open(path);
  std::ostringstream text;
  text << in.rdbuf();
  return or_fail(path, cost::parse_cost(text.str()));
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out || !out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    fail("cannot write all of " + path);
  }
}

worlds::TimelineWindow parse_window(const std::string& text, const worlds::Timeline& timeline) {
  worlds::TimelineWindow window = worlds::whole(timeline);
  if (text.empty()) return window;
  double from = 0, until = 0;
  int length = 0;
  const int read = std::sscanf(text.c_str(), "%lf:%lf%n", &from, &until, &length);
  if (read != 2 || static_cast<size_t>(length) != text.size() || !(from >= 0 && until > from && until <= 1e9)) {
    fail("--window " + text + ": two numbers of seconds expected, like 20:40");
  }
  window.from = base::Micros(std::llround(from * 1e6));
  window.until = base::Micros(std::llround(until * 1e6));
  if (window.until <= window.from) fail("--window " + text + ": less than a microsecond");
  return window;
}

}  // namespace takt::apps
