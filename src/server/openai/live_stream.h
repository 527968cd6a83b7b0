// GET /v1/takt/live: what is going on, four times a second, as server-sent events.
#pragma once

#include <functional>
#include <memory>

#include "server/http/exchange.h"
#include "server/metrics/server_metrics.h"
#include "server/openai/backend.h"

namespace takt::server {

// On the connection's strand. Keeps itself alive until the reader goes away or the server ends.
class LiveStream final : public std::enable_shared_from_this<LiveStream> {
 public:
  struct Source {
    std::function<std::shared_ptr<const Backend>()> backend;  // null while there is none
    std::function<bool()> is_draining;
    int64_t started_unix_ms = 0;
  };
  LiveStream(std::shared_ptr<Exchange> exchange, std::shared_ptr<ServerMetrics> metrics, Source source)
      : exchange_(std::move(exchange)), metrics_(std::move(metrics)), source_(std::move(source)) {}

  void start();

 private:
  void tick();
  void write_hello(const Backend* backend);

  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const Source source_;
  std::shared_ptr<const Backend> greeted_;  // the model that the last hello was about
  LiveCursor cursor_;
  uint64_t seq_ = 0;
};

}  // namespace takt::server
