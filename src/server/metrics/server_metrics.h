// What the server counts, in Prometheus' text format. Thread-safe. Names, units and formulas: metric_table.cc.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "contract/scheduler_port.h"
#include "contract/serving_port.h"
#include "server/metrics/live_board.h"
#include "server/metrics/live_facts.h"
#include "server/metrics/trace_export.h"

namespace takt::server {

class ServerMetrics final : public contract::StepListener {
 public:
  ServerMetrics();
  ~ServerMetrics() override;
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  void count_http_reply(int status);
  // A generation request that was not accepted; `reason` is an error's code.
  void count_refusal(std::string_view endpoint, std::string_view reason);
  // A model is served from here on.
  void set_model(const std::string& name, const LiveFacts& facts);
  void on_step(const contract::StepRecord& record) override;
  // Called as the tokens come. `is_first`: the request had no output token before.
  void record_output(const contract::RequestOutput& output, const contract::RequestTimes& times, bool is_first);
  // An accepted request ended.
  void record_finish(std::string_view endpoint, contract::FinishReason finish, const contract::RequestTimes& times);

  // Ended requests are sent from here on. Before the first request.
  void export_traces(std::unique_ptr<TraceExporter> exporter);
  LiveBoard& live() { return live_; }
  uint64_t refused_count() const { return refused_count_; }

  // The page for /metrics. Without bounds (the model is being loaded) the scheduler's gauges are left out.
  std::string render(const std::optional<contract::Bounds>& bounds);

 private:
  struct Impl;
  std::unique_ptr<TraceExporter> exporter_;  // null: nobody wants traces
  LiveBoard live_;
  std::atomic<uint64_t> refused_count_{0};
  std::unique_ptr<Impl> impl_;
};

}  // namespace takt::server
