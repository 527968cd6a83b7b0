// Notes when the tokens of a reply are with the network. On the connection's strand.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "contract/serving_port.h"
#include "server/metrics/server_metrics.h"

namespace takt::server {

class WriteClock {
 public:
  // `port` outlives this.
  WriteClock(std::shared_ptr<ServerMetrics> metrics, const contract::ServingPort& port)
      : metrics_(std::move(metrics)), port_(port) {}
  // The reply is complete, or nobody waits for it any more.
  ~WriteClock();
  WriteClock(const WriteClock&) = delete;
  WriteClock& operator=(const WriteClock&) = delete;

  void add(contract::RequestId id) { requests_.push_back(id); }
  // The request's first `tokens` output tokens are in the connection's bytes up to `end`.
  void note(contract::RequestId id, uint64_t tokens, uint64_t end) { pending_.push_back({id, tokens, end}); }
  void on_written(uint64_t bytes);

 private:
  struct Pending {
    contract::RequestId id;
    uint64_t tokens, end;
  };
  const std::shared_ptr<ServerMetrics> metrics_;
  const contract::ServingPort& port_;
  std::vector<contract::RequestId> requests_;
  std::deque<Pending> pending_;
};

}  // namespace takt::server
