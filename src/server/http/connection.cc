#include "server/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <ctime>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/http/request_id.h"
#include "server/openai/api_error.h"

namespace takt::server {

namespace asio = boost::asio;
using boost::system::error_code;

// Holds the connection alive. Calls after the reply is complete or the client is gone do nothing: `current_` is another then.
class Connection::HttpExchange final : public Exchange {
 public:
  HttpExchange(std::shared_ptr<Connection> connection, HttpRequest request)
      : connection_(std::move(connection)), request_(std::move(request)) {}

  HttpRequest& request() override { return request_; }
  HeaderList& reply_headers() override { return reply_headers_; }
  bool is_open() const override { return connection_->current_.get() == this; }
  void reply(HttpReply reply) override {
    if (is_open()) connection_->send_reply(with_common_headers(std::move(reply)), &request_);
  }
  void begin_stream(HttpReply head) override {
    if (is_open()) connection_->begin_stream(with_common_headers(std::move(head)), request_);
  }
  void write(std::string piece) override {
    if (is_open()) connection_->write_stream(piece);
  }
  void end_stream() override {
    if (is_open()) connection_->end_stream();
  }
  uint64_t bytes_enqueued() const override { return connection_->enqueued_bytes_; }
  size_t bytes_waiting() const override { return connection_->output_bytes_; }
  void on_written(std::function<void(uint64_t bytes)> callback) override {
    if (is_open()) connection_->on_written_ = std::move(callback);
  }
  void abort() override {
    if (is_open()) connection_->abort();
  }
  void on_disconnect(std::function<void()> callback) override {
    if (is_open()) on_disconnect_ = std::move(callback);
  }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    if (!is_open()) return;
    connection_->request_timer_.expires_after(delay);
    connection_->request_timer_.async_wait(
        [connection = connection_, exchange = this, function = std::move(function)](const error_code& error) {
          if (!error && connection->current_.get() == exchange) function();
        });
  }
  void post(std::function<void()> function) override { asio::post(connection_->strand_, std::move(function)); }
  void run_in_background(std::function<void()> function) override {
    connection_->shared_->run_in_background(std::move(function));
  }

  // The callback may hold the exchange: taking it away breaks the circle.
  std::function<void()> take_disconnect_callback() { return std::exchange(on_disconnect_, nullptr); }

 private:
  HttpReply with_common_headers(HttpReply reply) const {
    reply.headers.insert(reply.headers.end(), reply_headers_.begin(), reply_headers_.end());
    return reply;
  }

  const std::shared_ptr<Connection> connection_;
  HttpRequest request_;
  HeaderList reply_headers_;
  std::function<void()> on_disconnect_;
};

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShared> shared)
    : socket_(std::move(socket)),
      strand_(socket_.get_executor()),
      timer_(strand_),
      request_timer_(strand_),
      shared_(std::move(shared)),
      parser_(std::make_unique<RequestParser>(shared_->limits)) {}

Connection::~Connection() {
  const std::lock_guard lock(shared_->mutex);
  shared_->connections.erase(this);
}

void Connection::start() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->is_closed) return;
    shared_->connections.emplace(this, weak_from_this());
  }
  asio::post(strand_, [self = shared_from_this()] {
    if (self->state_ == State::closed) return;
    self->set_deadline(self->shared_->limits.head_timeout);
    self->arm_read();
  });
}

void Connection::shut_down() {
  asio::post(strand_, [self = shared_from_this()] { self->close(); });
}

// ---- reading

// A read is pending in every state, so that a client that goes away is noticed while its request is being worked on.
void Connection::arm_read() {
  if (is_read_pending_ || has_peer_closed_ || state_ == State::closed) return;
  is_read_pending_ = true;
  socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](const error_code& error, size_t count) {
    self->on_read(error, count);
  });
}

void Connection::on_read(const error_code& error, size_t count) {
  is_read_pending_ = false;
  if (state_ == State::closed) return;
  if (error) return on_peer_closed();
  if (state_ == State::lingering) {
    lingered_bytes_ += count;
    if (lingered_bytes_ > shared_->limits.body_bytes_max) return close();
    return arm_read();
  }
  const bool is_first_of_request =
      state_ == State::reading && input_.empty() && parser_->state() == RequestParser::State::head;
  if (is_first_of_request) set_deadline(shared_->limits.head_timeout);
  input_.append(chunk_.data(), count);
  if (state_ == State::reading) consume_input();
  if (state_ == State::responding && input_.size() > shared_->limits.pipelined_bytes_max) {
    input_.clear();
    keeps_alive_ = false;
  }
  arm_read();
}

// An end of input means that the client is gone, unless its reply only needs to be written out. (A client that closes its sending
// side early and still waits cannot be told from a dead one.)
void Connection::on_peer_closed() {
  has_peer_closed_ = true;
  if (state_ == State::responding && is_response_complete_) return;
  close();
}

void Connection::consume_input() {
  while (state_ == State::reading && !input_.empty()) {
    const RequestParser::State before = parser_->state();
    input_.erase(0, parser_->feed(input_));
    const RequestParser::State after = parser_->state();
    if (after == RequestParser::State::failed) return refuse(parser_->failure_status(), parser_->failure_reason());
    if (after == RequestParser::State::head) return;
    if (!account_body()) return refuse(503, "too many large requests at once; try again later");
    if (before == RequestParser::State::head && after == RequestParser::State::body) on_head_complete();
    if (after != RequestParser::State::complete) return;
    dispatch();
  }
}

bool Connection::account_body() {
  const size_t bytes = parser_->body_bytes();
  if (bytes <= accounted_body_bytes_) return true;
  const size_t growth = bytes - accounted_body_bytes_;
  accounted_body_bytes_ = bytes;
  return shared_->body_bytes.fetch_add(growth) + growth <= shared_->limits.body_bytes_total_max;
}

void Connection::on_head_complete() {
  if (parser_->expects_unknown()) return refuse(417, "the only expectation met here is 100-continue");
  if (parser_->expects_continue()) enqueue("HTTP/1.1 100 Continue\r\n\r\n");
  set_deadline(shared_->limits.body_timeout);
}

void Connection::dispatch() {
  state_ = State::responding;
  is_response_complete_ = false;
  keeps_alive_ = parser_->keeps_alive();
  is_http_1_0_ = parser_->is_http_1_0();
  HttpRequest request = parser_->take();
  parser_ = std::make_unique<RequestParser>(shared_->limits);
  const std::string_view given_id = request.header("x-request-id");
  request.received = std::chrono::steady_clock::now();
  request.request_id = is_valid_request_id(given_id) ? std::string(given_id) : make_request_id();
  is_active_ = true;
  ++shared_->active_exchange_count;
  set_deadline(std::nullopt);
  current_ = std::make_shared<HttpExchange>(shared_from_this(), std::move(request));
  const std::shared_ptr<HttpExchange> exchange = current_;
  shared_->handler(exchange);
}

// Answers a request that could not be read, and closes: where the next one would begin is not known.
void Connection::refuse(int status, const std::string& reason) {
  state_ = State::responding;
  is_response_complete_ = false;
  input_.clear();
  ApiError error;
  error.status = status;
  error.type = status >= 500 ? "unavailable_error" : "invalid_request_error";
  error.message = reason;
  error.code = status == 413 ? "request_too_large" : status == 503 ? "overloaded" : "bad_http_request";
  HttpReply reply = error_reply(error);
  reply.closes_connection = true;
  send_reply(std::move(reply), nullptr);
}

// ---- writing

std::string Connection::render_head(const HttpReply& head, std::string_view request_id) const {
  std::string out = "HTTP/1.1 " + std::to_string(head.status) + " " + std::string(reason_phrase(head.status)) + "\r\n";
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[64];
  out.append(date, std::strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc));
  if (!head.content_type.empty() && head.status != 204 && head.status != 304)
    out += "Content-Type: " + head.content_type + "\r\n";
  for (const auto& [name, value] : head.headers) out += name + ": " + value + "\r\n";
  if (!request_id.empty()) out.append("x-request-id: ").append(request_id).append("\r\n");
  out += "X-Content-Type-Options: nosniff\r\n";
  out += keeps_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return out;
}

void Connection::send_reply(HttpReply reply, const HttpRequest* request) {
  if (reply.closes_connection || shared_->is_draining) keeps_alive_ = false;
  const bool is_head = request != nullptr && request->method == "HEAD";
  std::string bytes =
      render_head(reply, request != nullptr ? std::string_view(request->request_id) : std::string_view());
  if (reply.status != 204 && reply.status != 304)
    bytes += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  bytes += "\r\n";
  shared_->count_reply(reply.status);
  enqueue(std::move(bytes));
  if (!is_head && !reply.body.empty()) enqueue(std::move(reply.body));
  complete_response();
}

void Connection::begin_stream(const HttpReply& head, const HttpRequest& request) {
  is_chunked_ = !is_http_1_0_;
  if (!is_chunked_ || shared_->is_draining) keeps_alive_ = false;
  std::string bytes = render_head(head, request.request_id);
  bytes += is_chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  shared_->count_reply(head.status);
  enqueue(std::move(bytes));
}

void Connection::write_stream(const std::string& piece) {
  if (piece.empty()) return;  // an empty chunk would end the stream
  if (output_bytes_ > shared_->limits.output_bytes_max) {
    base::log(base::LogLevel::warning, "reader too slow, disconnected", current_->request().request_id);
    return abort();
  }
  if (!is_chunked_) return enqueue(piece);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string size;
  for (size_t rest = piece.size(); rest > 0; rest >>= 4) size.insert(size.begin(), kHex[rest & 15]);
  enqueue(size + "\r\n" + piece + "\r\n");
}

void Connection::end_stream() {
  if (is_chunked_) enqueue("0\r\n\r\n");
  complete_response();
}

void Connection::complete_response() {
  is_response_complete_ = true;
  request_timer_.cancel();
  if (current_) {
    current_->take_disconnect_callback();
    current_.reset();
  }
  if (output_.empty()) on_response_written();
}

void Connection::enqueue(std::string bytes) {
  output_bytes_ += bytes.size();
  enqueued_bytes_ += bytes.size();
  output_.push_back(std::move(bytes));
  start_write();
}

void Connection::start_write() {
  if (is_writing_ || output_.empty() || state_ == State::closed) return;
  static constexpr size_t kBuffersMax = 16;
  std::vector<asio::const_buffer> buffers;
  for (size_t i = 0; i < output_.size() && i < kBuffersMax; ++i) {
    const size_t skip = i == 0 ? output_front_written_ : 0;
    buffers.emplace_back(output_[i].data() + skip, output_[i].size() - skip);
  }
  is_writing_ = true;
  if (state_ == State::responding) set_deadline(shared_->limits.write_timeout);
  socket_.async_write_some(
      buffers, [self = shared_from_this()](const error_code& error, size_t count) { self->on_write(error, count); });
}

void Connection::on_write(const error_code& error, size_t count) {
  is_writing_ = false;
  if (state_ == State::closed) return;
  if (error) return close();
  output_bytes_ -= count;
  while (count > 0) {
    const size_t front = output_.front().size() - output_front_written_;
    if (count < front) {
      output_front_written_ += count;
      break;
    }
    count -= front;
    output_front_written_ = 0;
    output_.pop_front();
  }
  if (on_written_) on_written_(enqueued_bytes_ - output_bytes_);
  if (!output_.empty()) return start_write();
  if (state_ != State::responding) return;  // 100 Continue, while the body is read
  set_deadline(std::nullopt);
  if (is_response_complete_) on_response_written();
}

void Connection::on_response_written() {
  on_written_ = nullptr;
  if (is_active_) {
    is_active_ = false;
    --shared_->active_exchange_count;
  }
  shared_->body_bytes -= std::exchange(accounted_body_bytes_, 0);
  if (has_peer_closed_) return close();
  if (!keeps_alive_) return linger();
  state_ = State::reading;
  set_deadline(input_.empty() ? shared_->limits.idle_timeout : shared_->limits.head_timeout);
  consume_input();
  arm_read();
}

// ---- time and end

void Connection::set_deadline(std::optional<std::chrono::milliseconds> timeout) {
  if (state_ == State::closed) return;
  if (!timeout) {
    timer_.expires_at(asio::steady_timer::time_point::max());
    return;
  }
  timer_.expires_after(*timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    // The deadline may have been moved after this call was queued.
    if (!error && self->timer_.expiry() <= std::chrono::steady_clock::now()) self->on_deadline();
  });
}

void Connection::on_deadline() {
  if (state_ == State::closed) return;
  const bool has_begun = !input_.empty() || parser_->state() != RequestParser::State::head;
  if (state_ == State::reading && has_begun) return refuse(408, "the request did not arrive in time");
  if (state_ == State::responding) return abort();
  close();
}

// Ends the sending side and takes what the client still sends: closing with unread input would reset the connection and could
// destroy the reply on its way.
void Connection::linger() {
  state_ = State::lingering;
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  set_deadline(shared_->limits.linger_timeout);
  arm_read();
}

void Connection::abort() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);  // drops what the kernel holds for the reader
  close();
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  request_timer_.cancel();
  output_.clear();
  output_bytes_ = 0;
  on_written_ = nullptr;
  shared_->body_bytes -= std::exchange(accounted_body_bytes_, 0);
  if (is_active_) {
    is_active_ = false;
    --shared_->active_exchange_count;
  }
  if (current_) {
    const std::function<void()> callback = current_->take_disconnect_callback();
    current_.reset();
    if (callback) callback();
  }
}

}  // namespace takt::server
