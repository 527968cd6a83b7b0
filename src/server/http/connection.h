// One client connection: reads requests, hands them to the handler one at a time, writes replies, and notices when the client goes.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/http/exchange.h"
#include "server/http/limits.h"
#include "server/http/request_parser.h"

namespace takt::server {

class Connection;

// What all connections of a server share. Thread-safe where it changes.
struct ConnectionShared {
  ConnectionLimits limits;
  std::function<void(std::shared_ptr<Exchange>)> handler;  // called on the connection's strand; must not block
  std::function<void(std::function<void()>)> run_in_background;
  std::function<void(int status)> count_reply;
  std::atomic<bool> is_draining{false};          // replies close their connection
  std::atomic<size_t> body_bytes{0};             // of all requests being read or answered
  std::atomic<size_t> active_exchange_count{0};  // requests whose reply is not fully written

  std::mutex mutex;
  bool is_closed = false;  // no new connections                                (mutex)
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections;  // (mutex)
};

// All functions but start(), shut_down() and the constructor run on the strand that the socket was made with.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShared> shared);
  ~Connection();

  // Registers itself and begins to read. Thread-safe.
  void start();
  // Closes at once; a request being answered is told that its client went away. Thread-safe.
  void shut_down();

 private:
  class HttpExchange;
  enum class State { reading, responding, lingering, closed };

  void arm_read();
  void on_read(const boost::system::error_code& error, size_t count);
  void on_peer_closed();
  void consume_input();
  bool account_body();
  void on_head_complete();
  void dispatch();
  void refuse(int status, const std::string& reason);

  void send_reply(HttpReply reply, const HttpRequest* request);
  void begin_stream(const HttpReply& head, const HttpRequest& request);
  void write_stream(const std::string& piece);
  void end_stream();
  std::string render_head(const HttpReply& head, std::string_view request_id) const;
  void complete_response();
  void enqueue(std::string bytes);
  void start_write();
  void on_write(const boost::system::error_code& error, size_t count);
  void on_response_written();

  void set_deadline(std::optional<std::chrono::milliseconds> timeout);
  void on_deadline();
  void linger();
  void abort();
  void close();

  boost::asio::ip::tcp::socket socket_;
  const boost::asio::any_io_executor strand_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer request_timer_;  // HttpExchange::call_after()
  const std::shared_ptr<ConnectionShared> shared_;
  State state_ = State::reading;

  std::array<char, 16384> chunk_;
  std::string input_;  // received and not parsed yet
  bool is_read_pending_ = false;
  bool has_peer_closed_ = false;
  size_t lingered_bytes_ = 0;
  std::unique_ptr<RequestParser> parser_;
  size_t accounted_body_bytes_ = 0;

  std::shared_ptr<HttpExchange> current_;  // set while its reply is incomplete
  bool is_active_ = false;                 // counted in shared_->active_exchange_count
  bool keeps_alive_ = true;
  bool is_http_1_0_ = false;
  bool is_chunked_ = false;
  bool is_response_complete_ = false;

  std::deque<std::string> output_;
  size_t output_bytes_ = 0;
  uint64_t enqueued_bytes_ = 0;  // since the connection began
  std::function<void(uint64_t)> on_written_;
  size_t output_front_written_ = 0;
  bool is_writing_ = false;
};

}  // namespace takt::server
