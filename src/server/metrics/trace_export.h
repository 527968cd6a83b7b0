// Sends each ended request as an OpenTelemetry trace, OTLP over HTTP in JSON: a span for the request and one for each of its phases.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "server/metrics/request_trace.h"

namespace takt::server {

// W3C trace context: who called, as lower-case hexadecimal digits.
struct TraceParent {
  std::string trace_id;  // 32 digits
  std::string span_id;   // 16 digits: the caller's span; empty: there is none
  bool is_sampled = true;
};
// A header `traceparent` of version 00 (a later one is read as if it were). Nothing when it is not well formed.
std::optional<TraceParent> try_trace_parent(std::string_view header);

// The spans of one request, as an element of OTLP's `spans`, separated by commas. `unix_us_offset`: what is to be added to the trace's
// times to get microseconds since 1970. Ids not given by the caller are random.
std::string spans_json(const RequestTrace& trace, base::Micros now, int64_t unix_us_offset);

// Requests waiting to be sent; more are dropped, so that a collector that is away costs nothing.
inline constexpr size_t kTracesQueued = 1024;

// Thread-safe. A thread of its own sends.
class TraceExporter {
 public:
  // `url`: the collector's, such as http://127.0.0.1:4318/v1/traces (without a path, that one is added). Errors: invalid_argument.
  static base::Result<std::unique_ptr<TraceExporter>> create(const std::string& url);
  // Tries to send what is queued, once.
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // The request has ended, at `now` of the clock of its times.
  void add(const RequestTrace& trace, base::Micros now);
  uint64_t sent_count() const { return sent_count_; }
  uint64_t dropped_count() const { return dropped_count_; }  // the queue was full, or the collector did not take it

 private:
  explicit TraceExporter(std::string url);
  void run();
  bool post(const std::string& body);

  const std::string url_;
  std::mutex mutex_;
  std::condition_variable event_;
  std::deque<std::string> queue_;  // (mutex_)
  bool is_stopping_ = false;       // (mutex_)
  std::atomic<uint64_t> sent_count_{0}, dropped_count_{0};
  std::thread thread_;
};

}  // namespace takt::server
