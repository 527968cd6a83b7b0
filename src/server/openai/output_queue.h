// Carries one choice's output from the model's loop to the connection's strand, without ever holding up the loop.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "contract/serving_port.h"
#include "server/http/exchange.h"
#include "server/metrics/server_metrics.h"

namespace takt::server {

// Called on the strand.
class OutputReceiver {
 public:
  virtual ~OutputReceiver() = default;
  virtual void on_output(size_t index, contract::RequestOutput output, const contract::RequestTimes& times) = 0;
  // More waits than the strand takes away; the outputs were dropped.
  virtual void on_overflow() = 0;
};

class OutputQueue final : public contract::OutputSink, public std::enable_shared_from_this<OutputQueue> {
 public:
  // `label` names the request in the log.
  OutputQueue(std::shared_ptr<Exchange> exchange, std::shared_ptr<OutputReceiver> receiver, size_t index,
              std::shared_ptr<ServerMetrics> metrics, std::string endpoint, std::string label);

  // On the loop's thread: queues, and posts once until the strand has emptied the queue. Counts and logs in any case.
  void on_output(const contract::RequestOutput& output, const contract::RequestTimes& times) override;

  // Nothing reaches the receiver from here on, and its and the exchange's references are dropped. Any thread.
  void detach();

 private:
  struct Item {
    contract::RequestOutput output;
    contract::RequestTimes times;
  };
  void count(const contract::RequestOutput& output, const contract::RequestTimes& times);
  void deliver();

  const size_t index_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const std::string endpoint_;
  const std::string label_;
  bool has_first_token_ = false;  // the loop's thread only

  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;        // (mutex_)
  std::shared_ptr<OutputReceiver> receiver_;  // (mutex_)
  std::vector<Item> items_;                   // (mutex_)
  size_t queued_bytes_ = 0;                   // (mutex_)
  bool is_posted_ = false;                    // (mutex_)
  bool has_overflowed_ = false;               // (mutex_)
};

}  // namespace takt::server
