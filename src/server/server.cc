#include "server/server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <ctime>
#include <thread>

#include "base/log.h"
#include "server/http/connection.h"
#include "server/http/json_writer.h"
#include "server/openai/api.h"
#include "server/openai/api_error.h"

namespace takt::server {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// What a connection beyond the limit gets, written at once: nothing is kept for it.
std::string too_many_connections() {
  ApiError error = to_api_error({base::ErrorCode::queue_full, "too many connections"});
  error.code = "too_many_connections";
  const std::string body = error_json(error);
  return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

base::Error io_error(const std::string& what, const error_code& error) {
  return {base::ErrorCode::io, what + ": " + error.message()};
}

class BeastServer final : public HttpServer {
 public:
  explicit BeastServer(ServerOptions options)
      : options_(std::move(options)), acceptor_(asio::make_strand(io_)), background_(options_.background_threads) {}
  ~BeastServer() override { stop(std::chrono::milliseconds(0)); }

  base::Status listen();

  uint16_t port() const override { return port_; }
  void serve(ServedModel model) override;
  void begin_drain() override;
  ServerSummary summary() const override;
  size_t active_requests() const override { return shared_->active_exchange_count; }
  void stop(std::chrono::milliseconds grace) override;

 private:
  void accept();
  void on_accept(const error_code& error, tcp::socket socket);
  void close_connections();
  void run_io();

  const ServerOptions options_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  asio::thread_pool background_;
  uint16_t port_ = 0;
  std::shared_ptr<ServerMetrics> metrics_ = std::make_shared<ServerMetrics>();
  std::unique_ptr<Api> api_;
  std::shared_ptr<ConnectionShared> shared_ = std::make_shared<ConnectionShared>();
  std::vector<std::thread> threads_;
  contract::ServingPort* listened_ = nullptr;
  bool is_stopped_ = false;
};

base::Status BeastServer::listen() {
  error_code error;
  const asio::ip::address address =
      asio::ip::make_address(options_.host == "localhost" ? "127.0.0.1" : options_.host, error);
  if (error) return base::Error{base::ErrorCode::invalid_argument, "'" + options_.host + "' is not an IP address"};
  const tcp::endpoint endpoint(address, options_.port);
  const std::string where = options_.host + " port " + std::to_string(options_.port);
  if (!options_.otlp_url.empty()) {
    auto exporter = TraceExporter::create(options_.otlp_url);
    if (!exporter) return exporter.error();
    metrics_->export_traces(std::move(*exporter));
  }
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return io_error("cannot listen on " + where, error);
  port_ = acceptor_.local_endpoint(error).port();
  api_ = std::make_unique<Api>(ApiOptions{options_.api, options_.allowed_origins, address.is_loopback(), options_.keys},
                               metrics_);
  shared_->limits = options_.connection;
  shared_->handler = [this](std::shared_ptr<Exchange> exchange) { api_->handle(std::move(exchange)); };
  shared_->run_in_background = [this](std::function<void()> function) { asio::post(background_, std::move(function)); };
  shared_->count_reply = [metrics = metrics_](int status) { metrics->count_http_reply(status); };
  accept();
  for (uint32_t i = 0; i < options_.io_threads; ++i) threads_.emplace_back([this] { run_io(); });
  return {};
}

// A handler that throws (no memory left) costs its own connection, not the server.
void BeastServer::run_io() {
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception& exception) {
      base::log(base::LogLevel::error, std::string("connection failed: ") + exception.what());
    }
  }
}

void BeastServer::accept() {
  acceptor_.async_accept(asio::make_strand(io_),
                         [this](const error_code& error, tcp::socket socket) { on_accept(error, std::move(socket)); });
}

void BeastServer::on_accept(const error_code& error, tcp::socket socket) {
  if (!acceptor_.is_open()) return;
  if (error) {
    // Out of file descriptors, most likely: others must end before it can get better.
    base::log(base::LogLevel::warning, "cannot accept a connection: " + error.message());
    auto timer = std::make_shared<asio::steady_timer>(acceptor_.get_executor(), std::chrono::milliseconds(100));
    timer->async_wait([this, timer](const error_code&) {
      if (acceptor_.is_open()) accept();
    });
    return;
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  size_t count = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    count = shared_->connections.size();
  }
  if (count < options_.connection.connections_max) {
    std::make_shared<Connection>(std::move(socket), shared_)->start();
  } else {
    socket.non_blocking(true, ignored);
    char request[4096];
    socket.read_some(asio::buffer(request), ignored);  // unread input would turn the close into a reset
    socket.write_some(asio::buffer(too_many_connections()), ignored);
    socket.shutdown(tcp::socket::shutdown_both, ignored);
    metrics_->count_http_reply(503);
  }
  accept();
}

void BeastServer::serve(ServedModel model) {
  auto backend = std::make_shared<Backend>();
  backend->name = std::move(model.name);
  backend->shape = std::move(model.shape);
  backend->context_tokens = model.context_tokens;
  backend->created = static_cast<int64_t>(std::time(nullptr));
  backend->port = model.port;
  backend->text = std::move(model.text);
  metrics_->set_model(replace_invalid_utf8(backend->name), model.facts);
  backend->live = LiveModel{backend->name, backend->shape, backend->context_tokens, std::move(model.facts)};
  backend->port->listen(metrics_.get());
  listened_ = backend->port;
  api_->set_backend(std::move(backend));
}

ServerSummary BeastServer::summary() const {
  if (listened_ == nullptr) return {};
  LiveCursor cursor{UINT64_MAX, UINT64_MAX};  // no steps, no requests
  const LiveSnapshot snapshot = metrics_->live().snapshot(cursor, listened_->now());
  ServerSummary summary{0, snapshot.rates.prompt_tokens_per_s, snapshot.rates.output_tokens_per_s, snapshot.itl.p99};
  for (const uint32_t waiting : snapshot.waiting) summary.waiting += waiting;
  return summary;
}

void BeastServer::begin_drain() {
  api_->begin_drain();
  shared_->is_draining = true;
}

void BeastServer::close_connections() {
  std::vector<std::shared_ptr<Connection>> connections;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
    for (const auto& [key, weak] : shared_->connections) {
      if (auto connection = weak.lock()) connections.push_back(std::move(connection));
    }
  }
  for (const auto& connection : connections) connection->shut_down();
}

void BeastServer::stop(std::chrono::milliseconds grace) {
  if (std::exchange(is_stopped_, true) || api_ == nullptr) return;
  begin_drain();
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (active_requests() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  asio::post(acceptor_.get_executor(), [this] {
    error_code ignored;
    acceptor_.close(ignored);
  });
  close_connections();
  background_.join();
  // With every socket and timer closed the io threads run out of work: nothing is left behind that could hold a connection.
  for (std::thread& thread : threads_) thread.join();
  if (listened_ != nullptr) listened_->listen(nullptr);
}

}  // namespace

base::Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options) {
  try {
    auto server = std::make_unique<BeastServer>(std::move(options));
    if (base::Status listening = server->listen(); !listening) return listening.error();
    return std::unique_ptr<HttpServer>(std::move(server));
  } catch (const std::exception& exception) {
    return base::Error{base::ErrorCode::io, std::string("cannot start the server: ") + exception.what()};
  }
}

}  // namespace takt::server
