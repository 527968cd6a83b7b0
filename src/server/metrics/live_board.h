// What is going on and what went on lately, for the live stream and the request pages. Bounded: rings of steps, of ended requests
// and of the gaps they keep. Thread-safe; the loop's calls take well under a microsecond each.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/model_shape.h"
#include "contract/service_policy.h"
#include "contract/serving_port.h"
#include "server/metrics/request_trace.h"

namespace takt::server {

inline constexpr size_t kStepsKept = 4096;
inline constexpr size_t kRequestsKept = 256;  // ended ones
inline constexpr size_t kGapsKept = 65'536;   // of all requests together; ended requests go first
inline constexpr base::Micros kRateWindow{1'000'000};
inline constexpr base::Micros kLatencyWindow{60'000'000};
// Samples kept for a window's percentiles: two minutes of 64 rows at one token a second, or the latest ones.
inline constexpr size_t kSamplesKept = 8192;

struct Quantiles {
  size_t count = 0;
  base::Micros p50, p95, p99;  // zero when count is 0
};
// Nearest rank: the smallest sample that at least that share is not above.
Quantiles quantiles_of(std::vector<int64_t> samples);

// Of the last second.
struct LiveRates {
  double prompt_tokens_per_s = 0, output_tokens_per_s = 0, steps_per_s = 0;
  double busy = 0;  // share of the window with a step running
  // Of the steps with prompt chunks, and of those with decode rows only: how long they took, and what they had to do.
  base::Micros prefill_time, decode_time;
  uint64_t prefill_rows = 0;  // prompt tokens and decode rows of the former
  uint64_t decode_steps = 0;
  uint64_t decode_positions = 0;  // that the latter attended to
};

// Of the last minute, by class.
struct ClassRecord {
  uint64_t finished = 0, kept = 0;  // ended by themselves; of these, with every limit of the class kept
  uint64_t ttft_broken = 0, itl_broken = 0;
};

struct LiveTotals {
  uint64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0, steps = 0, requests = 0;
};

// What one reader of the live stream has seen.
struct LiveCursor {
  uint64_t step = 0;
  uint64_t changed = 0;
};

struct LiveSnapshot {
  LiveRates rates;
  LiveTotals totals;
  Quantiles ttft, itl;
  std::array<ClassRecord, contract::kServiceClassCount> classes;
  std::array<uint32_t, contract::kServiceClassCount> waiting{};  // by class
  std::optional<contract::StepRecord> last_mixed;                // the last step with both phases
  std::vector<contract::StepRecord> steps;                       // since the cursor
  uint64_t steps_skipped = 0;
  std::vector<RequestTrace> requests;  // changed since the cursor; without outputs
  std::map<contract::RequestId, std::string> names;
};

class LiveBoard final : public contract::StepListener {
 public:
  // The limits that requests are held against from now on.
  void set_policy(const contract::ServicePolicy& policy);

  // Called outside of the lock when a request has ended and its reply is written. Before the first request.
  using EndListener = std::function<void(const RequestTrace& trace, base::Micros now)>;
  void listen(EndListener listener) { listener_ = std::move(listener); }

  void on_step(const contract::StepRecord& record) override;
  // A request was accepted. Its first outputs may have come before.
  void add(RequestFacts facts, base::Micros submitted, base::Tokens prompt_tokens);
  void on_output(const contract::RequestOutput& output, const contract::RequestTimes& times);
  void on_written(contract::RequestId id, uint64_t tokens, base::Micros now);
  void on_closed(contract::RequestId id, base::Micros now);

  // Moves the cursor on.
  LiveSnapshot snapshot(LiveCursor& cursor, base::Micros now) const;
  // Newest first, without outputs.
  std::vector<RequestTrace> recent() const;
  // The newest of this public id.
  std::optional<RequestTrace> find(std::string_view public_id) const;
  std::optional<RequestTrace> find(contract::RequestId id) const;  // without outputs
  std::string public_id(contract::RequestId id) const;

 private:
  struct Sample {
    base::Micros at;
    int64_t us;
  };
  struct Ended {
    base::Micros at;
    contract::ServiceClass service_class;
    bool is_ttft_broken, is_itl_broken;
  };
  RequestTrace& trace(contract::RequestId id);
  void touch(RequestTrace& trace) { trace.changed = ++changes_; }
  void judge(const RequestTrace& trace);
  void forget_old();
  LiveRates rates(base::Micros now) const;
  static void add_sample(std::deque<Sample>& samples, Sample sample);
  static Quantiles window(const std::deque<Sample>& samples, base::Micros now);

  EndListener listener_;
  mutable std::mutex mutex_;
  contract::ServicePolicy policy_;
  std::deque<contract::StepRecord> steps_;
  std::optional<contract::StepRecord> last_mixed_;
  std::map<contract::RequestId, RequestTrace> traces_;
  std::deque<Sample> ttft_, itl_;
  std::deque<Ended> ended_;
  LiveTotals totals_;
  size_t gaps_ = 0;         // kept in all traces
  size_t ended_count_ = 0;  // of traces_
  uint64_t changes_ = 0;
};

}  // namespace takt::server
