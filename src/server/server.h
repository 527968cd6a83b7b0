// The HTTP server. It talks OpenAI's protocol to clients and reaches the model's loop through contract::ServingPort.
//
//   server::ServerOptions options;
//   auto server = server::HttpServer::start(options);           // listens; answers 503 loading_model
//   (*server)->serve({name, shape, context_tokens, &port, server::make_text_services(…)});
//   …SIGTERM…  (*server)->begin_drain();  (*server)->stop(std::chrono::seconds(30));
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/serving_port.h"
#include "server/http/limits.h"
#include "server/metrics/live_facts.h"
#include "server/openai/api_keys.h"
#include "server/openai/generation_request.h"
#include "server/text_services.h"

namespace takt::server {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address, or "localhost"
  uint16_t port = 8080;            // 0: the system picks a free one
  ConnectionLimits connection;
  ApiLimits api;
  std::vector<std::string> allowed_origins;  // web pages besides those of this machine; see is_origin_allowed()
  std::string otlp_url;                      // where traces are sent, OTLP over HTTP; empty: nowhere
  ApiKeys keys;                              // none: everybody may use the server
  uint32_t io_threads = 1;
  uint32_t background_threads =
      4;  // JSON, templates, tokenising: several, so that small requests do not wait behind a large one
};

struct ServedModel {
  std::string name;  // shown by /v1/models; requests may ask for any name
  contract::ModelShape shape;
  uint32_t context_tokens = 0;
  contract::ServingPort* port = nullptr;  // its loop runs until stop() has returned
  TextServices text;
  LiveFacts facts;
};

struct ServerSummary {
  uint32_t waiting = 0;
  double prompt_tokens_per_s = 0, output_tokens_per_s = 0;  // of the last second
  base::Micros itl_p99;                                     // of the last minute; zero: no gaps
};

class HttpServer {
 public:
  // Begins to listen. Until serve() is called, whatever needs a model is answered 503 loading_model. Errors: io (the address is
  // in use or not ours), invalid_argument (the host is no address).
  static base::Result<std::unique_ptr<HttpServer>> start(ServerOptions options);
  virtual ~HttpServer() = default;  // stop(0)

  // The port listened on.
  virtual uint16_t port() const = 0;
  // The model is ready: requests are served from here on. Once.
  virtual void serve(ServedModel model) = 0;
  // New generation requests are answered 503 shutting_down; running ones go on. Any thread.
  virtual void begin_drain() = 0;
  // What is going on, for a line on the operator's screen. Any thread.
  virtual ServerSummary summary() const = 0;
  // Requests being answered.
  virtual size_t active_requests() const = 0;
  // Drains, waits until every reply is written but no longer than `grace`, cancels what still runs, closes all connections and
  // ends the threads. A second call does nothing.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace takt::server
