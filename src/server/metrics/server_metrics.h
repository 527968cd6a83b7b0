// What the server counts, in Prometheus' text format. Thread-safe. Names, units and formulas are in server_metrics.cc, one table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "contract/scheduler_port.h"
#include "contract/serving_port.h"

namespace takt::server {

class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  void count_http_reply(int status);
  // A generation request that was not accepted; `reason` is an error's code.
  void count_refusal(std::string_view endpoint, std::string_view reason);
  // Called as the tokens come.
  void add_prompt_tokens(base::Tokens evaluated, base::Tokens cached);
  void add_output_tokens(base::Tokens count);
  // An accepted request ended.
  void record_finish(std::string_view endpoint, contract::FinishReason finish, const contract::RequestTimes& times);

  // The page for /metrics. Without bounds (the model is being loaded) the scheduler's gauges are left out.
  std::string render(const std::optional<contract::Bounds>& bounds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace takt::server
