#include "load/load_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <charconv>
#include <map>
#include <optional>

#include "load/stream_reader.h"

namespace takt::apps {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kErrorBodyMax = 1 << 16;

// What all exchanges of a client share.
struct Wire {
  explicit Wire(LoadTarget to) : target(std::move(to)) {}
  LoadTarget target;
  asio::io_context context{1};
  tcp::resolver::results_type addresses;
  Clock::time_point origin = Clock::now();

  base::Micros now() const {
    return base::Micros(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - origin).count());
  }
  Clock::time_point time(base::Micros at) const { return origin + std::chrono::microseconds(at.count()); }
};

// One request on a connection of its own, from its scheduled time to its end.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Wire& wire, LoadRequest request, base::Micros scheduled, LoadClient::OnEnd on_end,
           LoadClient::OnChunk on_chunk)
      : wire_(wire),
        request_(std::move(request)),
        on_end_(std::move(on_end)),
        on_chunk_(std::move(on_chunk)),
        socket_(wire.context),
        timer_(wire.context) {
    reply_.scheduled = reply_.sent = scheduled;
    parser_.body_limit(boost::none);
    // Piece by piece: an eager parser would hold a chunk back until the size of the next one has come, which a stream that waits for
    // its next token does not send.
    parser_.eager(false);
  }

  void start() {
    timer_.expires_at(wire_.time(reply_.scheduled));
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->send();
    });
  }

  void cancel() {
    if (has_ended_) return;
    reply_.is_cancelled = true;
    end();
  }

 private:
  void send() {
    if (has_ended_) return;
    reply_.sent = wire_.now();
    timer_.expires_at(wire_.time(reply_.scheduled) + wire_.target.timeout);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->fail("timeout", "no end after " + std::to_string(self->wire_.target.timeout.count()) + " s");
    });
    message_.method(http::verb::post);
    message_.target(wire_.target.base_path + (wire_.target.is_chat ? "/v1/chat/completions" : "/v1/completions"));
    message_.version(11);
    message_.set(http::field::host, wire_.target.host);
    message_.set(http::field::content_type, "application/json");
    message_.set(http::field::accept, "text/event-stream");
    if (!wire_.target.api_key.empty()) message_.set(http::field::authorization, "Bearer " + wire_.target.api_key);
    message_.keep_alive(false);
    message_.body() = request_body(wire_.target, request_);
    message_.prepare_payload();
    asio::async_connect(socket_, wire_.addresses, [self = shared_from_this()](const error_code& error, const auto&) {
      if (error) return self->fail("connect", error.message());
      error_code ignored;
      self->socket_.set_option(tcp::no_delay(true), ignored);
      http::async_write(self->socket_, self->message_, [self](const error_code& failure, size_t) {
        if (failure) return self->fail("write", failure.message());
        self->read();
      });
    });
  }

  void read() {
    http::async_read_some(socket_, buffer_, parser_,
                          [self = shared_from_this()](const error_code& error, size_t) { self->on_read(error); });
  }

  void on_read(const error_code& error) {
    if (has_ended_) return;
    const base::Micros at = wire_.now();
    reply_.ended = at;
    const bool is_ok = parser_.is_header_done() && parser_.get().result() == http::status::ok;
    if (is_ok) take_body(at);
    if (has_ended_) return;  // the caller hung up on what it saw
    if (!error && !parser_.is_done() && !(is_ok && reader_.is_done())) return read();
    // A body without a length ends with the connection.
    const bool is_cut = error && error != http::error::end_of_stream && !parser_.is_done();
    if (!parser_.is_header_done() || (is_cut && reply_.chunks.empty())) return fail("read", error.message());
    if (is_ok) {
      reader_.finish();
    } else {
      reply_.error_kind = "http " + std::to_string(parser_.get().result_int());
      reply_.error = error_text(parser_.get().body().substr(0, kErrorBodyMax));
    }
    end();
  }

  void take_body(base::Micros at) {
    const std::string bytes = std::exchange(parser_.get().body(), {});
    const size_t before = reply_.chunks.size();
    reader_.feed(bytes, at);
    if (on_chunk_ && reply_.chunks.size() > before) on_chunk_(reply_);
  }

  void fail(const std::string& kind, const std::string& what) {
    if (has_ended_) return;
    reply_.error_kind = kind;
    reply_.error = what;
    end();
  }

  void end() {
    has_ended_ = true;
    reply_.ended = wire_.now();
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
    // Not from within the caller's own call.
    asio::post(wire_.context, [self = shared_from_this()] { self->on_end_(self->reply_); });
  }

  Wire& wire_;
  LoadRequest request_;
  LoadClient::OnEnd on_end_;
  LoadClient::OnChunk on_chunk_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  http::request<http::string_body> message_;
  http::response_parser<http::string_body> parser_;
  Reply reply_;
  StreamReader reader_{reply_};
  bool has_ended_ = false;
};

class AsioLoadClient final : public LoadClient {
 public:
  explicit AsioLoadClient(const LoadTarget& target) : wire_(target) {}

  base::Status resolve() {
    error_code error;
    tcp::resolver resolver(wire_.context);
    wire_.addresses = resolver.resolve(wire_.target.host, std::to_string(wire_.target.port), error);
    if (error) return base::Error{base::ErrorCode::io, wire_.target.host + ": " + error.message()};
    return {};
  }

  base::Micros now() const override { return wire_.now(); }

  uint64_t send(LoadRequest request, base::Micros scheduled, OnEnd on_end, OnChunk on_chunk) override {
    const uint64_t id = ++count_;
    auto forget = [this, id, on_end = std::move(on_end)](const Reply& reply) {
      const auto kept = exchanges_.extract(id);  // alive until its caller is told
      on_end(reply);
    };
    auto exchange =
        std::make_shared<Exchange>(wire_, std::move(request), scheduled, std::move(forget), std::move(on_chunk));
    exchanges_.emplace(id, exchange);
    exchange->start();
    return id;
  }

  void cancel(uint64_t id) override {
    if (const auto found = exchanges_.find(id); found != exchanges_.end()) found->second->cancel();
  }

  void call_at(base::Micros at, std::function<void()> call) override {
    auto timer = std::make_shared<asio::steady_timer>(wire_.context, wire_.time(at));
    timer->async_wait([timer, call = std::move(call)](const error_code&) { call(); });
  }

  void run() override {
    wire_.context.restart();
    wire_.context.run();
  }

 private:
  Wire wire_;
  std::map<uint64_t, std::shared_ptr<Exchange>> exchanges_;
  uint64_t count_ = 0;
};

}  // namespace

base::Result<LoadTarget> parse_url(const std::string& url) {
  const auto invalid = [&url](const char* what) {
    return base::Error{base::ErrorCode::invalid_argument, "'" + url + "': " + what};
  };
  std::string_view rest = url;
  if (rest.starts_with("https://")) return invalid("only http:// can be measured; put a proxy in front of TLS");
  if (!rest.starts_with("http://")) return invalid("expected a URL as http://127.0.0.1:8080");
  rest.remove_prefix(7);
  LoadTarget target;
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with("/v1")) path.remove_suffix(3);
  target.base_path = path;
  const size_t bracket = authority.find(']');  // of an IPv6 address
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  target.host = authority.substr(0, colon);
  if (target.host.starts_with('[') && target.host.ends_with(']'))
    target.host = target.host.substr(1, target.host.size() - 2);
  if (target.host.empty()) return invalid("the host is missing");
  if (colon != std::string_view::npos) {
    const std::string_view port = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), target.port);
    if (error != std::errc{} || end != port.data() + port.size() || target.port == 0) return invalid("a bad port");
  }
  return target;
}

base::Result<std::unique_ptr<LoadClient>> LoadClient::connect(const LoadTarget& target) {
  auto client = std::make_unique<AsioLoadClient>(target);
  if (auto status = client->resolve(); !status) return status.error();
  return std::unique_ptr<LoadClient>(std::move(client));
}

}  // namespace takt::apps
