// The JSON of /v1/takt/live and /v1/takt/requests. Pure functions; docs/METRICS.md describes the fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contract/scheduler_port.h"
#include "server/http/json_writer.h"
#include "server/metrics/live_board.h"
#include "server/metrics/live_facts.h"

namespace takt::server {

struct LiveModel {
  std::string name;
  contract::ModelShape shape;
  uint32_t context_tokens = 0;
  LiveFacts facts;
};

inline constexpr int64_t kLiveTickMs = 250;

// `model`: null while there is none. `started_unix_ms`: when the server came up.
std::string hello_json(const LiveModel* model, int64_t started_unix_ms, base::Micros now);

struct TickState {
  uint64_t seq = 0;
  base::Micros now;
  std::string_view state;                  // "loading", "ready", "draining", "asleep"
  const LiveModel* model = nullptr;        // null: none is loaded
  std::optional<contract::Bounds> bounds;  // nothing: none is loaded
  uint64_t refused = 0;
};
std::string tick_json(const TickState& tick, const LiveSnapshot& snapshot);

std::string requests_json(const std::vector<RequestTrace>& traces, base::Micros now);
// With every gap and the words.
std::string request_json(const RequestTrace& trace, base::Micros now, const PublicId& public_id);

// "phases_us", and where the time up to the first token and behind it went.
void write_phase_fields(JsonWriter& json, const RequestTrace& trace, base::Micros now);

}  // namespace takt::server
