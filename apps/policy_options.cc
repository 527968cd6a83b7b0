#include "policy_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "contract/service_class.h"

namespace takt::apps {
namespace {

base::Error invalid(const std::string& option, const std::string& text, const std::string& expected) {
  return {base::ErrorCode::invalid_argument, option + " '" + text + "': " + expected};
}

// "80ms", "2s", "1.5s", "250us".
std::optional<base::Micros> read_duration(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double factor = unit == "s" ? 1e6 : unit == "ms" ? 1e3 : unit == "us" ? 1 : 0;
  const double us = value * factor;
  if (!(us >= 1 && us <= 3.6e9)) return std::nullopt;
  return base::Micros(static_cast<int64_t>(us));
}

constexpr const char* kSloForm =
    "CLASS:ttft=TIME,itl=TIME is expected, with interactive, batch or background, and times like 80ms or 2s";

base::Status read_slo(const std::string& text, contract::ServicePolicy& policy) {
  const size_t colon = text.find(':');
  const auto service_class = contract::try_service_class(std::string_view(text).substr(0, colon));
  if (colon == std::string::npos || !service_class) return invalid("--slo", text, kSloForm);
  std::string_view rest = std::string_view(text).substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view limit = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), limit.size() + 1));
    const size_t equals = limit.find('=');
    if (equals == std::string_view::npos) return invalid("--slo", text, kSloForm);
    const auto time = read_duration(limit.substr(equals + 1));
    if (!time)
      return invalid("--slo", text, "'" + std::string(limit) + "' has no time from 1us to 3600s, like 80ms or 2s");
    contract::ClassLimits& limits = policy.of(*service_class);
    const std::string_view what = limit.substr(0, equals);
    if (what == "ttft") {
      limits.ttft_max = *time;
    } else if (what == "itl") {
      limits.itl_max = *time;
    } else {
      return invalid("--slo", text, "'" + std::string(what) + "' is neither ttft nor itl");
    }
  }
  return {};
}

base::Status read_reservation(const std::string& text, contract::ServicePolicy& policy) {
  const size_t equals = text.find('=');
  const auto service_class = contract::try_service_class(std::string_view(text).substr(0, equals));
  uint32_t rows = 0;
  const char* end = text.data() + text.size();
  if (equals == std::string::npos || !service_class ||
      std::from_chars(text.data() + equals + 1, end, rows).ptr != end || equals + 1 == text.size() || rows > 1024)
    return invalid("--reserve-decode", text, "CLASS=ROWS is expected, like interactive=4");
  policy.of(*service_class).decode_rows_reserved = rows;
  return {};
}

}  // namespace

void add_policy_options(CLI::App& app, PolicyOptions& options) {
  add_option(
      app, "--slo", options.slo,
      "limits of a service class, like interactive:ttft=2s,itl=80ms (time to first token, gap between tokens); may be "
      "given for each of interactive, batch and background");
  add_option(app, "--reserve-decode", options.reserve_decode,
             "rows that other classes leave free for one, like interactive=4");
  add_option(app, "--step-time-max", options.step_time_max,
             "longest step while no gap is limited: so long a new request may go unseen");
  add_option(
      app, "--late", options.late,
      "a request that is predicted to miss its class's TTFT limit: accept it (and say so in the answer), or refuse it "
      "at once (429, with Retry-After)")
      ->check(CLI::IsMember({"accept", "refuse"}));
}

base::Result<contract::ServicePolicy> read_policy(const PolicyOptions& options) {
  contract::ServicePolicy policy;
  for (const std::string& text : options.slo)
    if (base::Status status = read_slo(text, policy); !status) return status.error();
  for (const std::string& text : options.reserve_decode)
    if (base::Status status = read_reservation(text, policy); !status) return status.error();
  const auto step_us_max = read_duration(options.step_time_max);
  if (!step_us_max)
    return invalid("--step-time-max", options.step_time_max, "a time from 1us to 3600s is expected, like 250ms");
  policy.step_us_max = *step_us_max;
  if (options.late == "refuse") policy.late_admission = contract::LateAdmission::refuse;
  return policy;
}

}  // namespace takt::apps
