// Every path that the server knows, and what happens there.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/metrics/server_metrics.h"
#include "server/openai/api_keys.h"
#include "server/openai/backend.h"
#include "server/openai/generation_request.h"

namespace takt::server {

struct ApiOptions {
  ApiLimits limits;
  // Web pages that may use the server: their origin must be on this machine, or listed here ("https://chat.example"; "*": all), or,
  // when the server listens beyond the loopback interface, have the host name that the page used to reach it.
  std::vector<std::string> allowed_origins;
  bool is_loopback = true;
  ApiKeys keys;
};

class Api {
 public:
  Api(ApiOptions options, std::shared_ptr<ServerMetrics> metrics);

  // From here on requests are served by this model. Thread-safe.
  void set_backend(std::shared_ptr<const Backend> backend);
  // New generation requests are answered 503 shutting_down. Thread-safe.
  void begin_drain() { is_draining_ = true; }

  // Answers one request. On the connection's strand; the work that takes long is done in the background.
  void handle(std::shared_ptr<Exchange> exchange);

 private:
  struct Route;
  bool is_admitted(Exchange& exchange, std::string_view path) const;
  using Handler = void (Api::*)(const std::shared_ptr<Exchange>& exchange);
  using TextFunction = HttpReply (*)(std::string_view body, const Backend& backend);

  static const std::vector<Route>& routes();
  std::shared_ptr<const Backend> backend() const;
  // The backend, or null when the request was answered 503 already.
  std::shared_ptr<const Backend> backend_or_refuse(Exchange& exchange) const;
  void dispatch(const std::shared_ptr<Exchange>& exchange);
  void reply_method_error(Exchange& exchange, std::string_view allowed) const;

  void generate(const std::shared_ptr<Exchange>& exchange, Endpoint endpoint);
  void completions(const std::shared_ptr<Exchange>& exchange) { generate(exchange, Endpoint::completions); }
  void chat(const std::shared_ptr<Exchange>& exchange) { generate(exchange, Endpoint::chat); }
  void run_text_function(const std::shared_ptr<Exchange>& exchange, TextFunction function);
  void tokenize_text(const std::shared_ptr<Exchange>& exchange);
  void detokenize_ids(const std::shared_ptr<Exchange>& exchange);
  void render_template(const std::shared_ptr<Exchange>& exchange);
  void list_models(const std::shared_ptr<Exchange>& exchange);
  void show_model(const std::shared_ptr<Exchange>& exchange);
  void show_health(const std::shared_ptr<Exchange>& exchange);
  void show_bounds(const std::shared_ptr<Exchange>& exchange);
  void show_metrics(const std::shared_ptr<Exchange>& exchange);
  void stream_live(const std::shared_ptr<Exchange>& exchange);
  void list_requests(const std::shared_ptr<Exchange>& exchange);
  void show_request(const std::shared_ptr<Exchange>& exchange);
  void show_web_file(const std::shared_ptr<Exchange>& exchange);

  const ApiOptions options_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const int64_t started_unix_ms_;
  std::atomic<bool> is_draining_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const Backend> backend_;  // (mutex_)
};

}  // namespace takt::server
