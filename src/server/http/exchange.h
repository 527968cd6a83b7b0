// One HTTP request and its reply, seen without sockets: what the endpoints work with. http/connection.cc implements it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/request.h"

namespace takt::server {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// Who asks, by the API key; without keys everybody is the same.
struct Caller {
  uint64_t tenant = 0;
  contract::ServiceClass default_class = contract::ServiceClass::interactive;
};

struct HttpRequest {
  std::string method;      // "GET"; as sent
  std::string path;        // of the target, without the query
  std::string query;       // behind '?', or empty
  HeaderList headers;      // names as sent
  std::string body;        // within ConnectionLimits::body_bytes_max
  std::string request_id;  // the client's x-request-id when it is well formed, or a generated one
  Caller caller;
  std::chrono::steady_clock::time_point received;  // its last byte was read

  // The first value of a header, found without regard to case; empty when absent.
  std::string_view header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HeaderList headers;  // besides Content-Type, Content-Length, Connection, Date and x-request-id
  bool closes_connection = false;
};

// The reason phrase of a status code ("Not Found").
std::string_view reason_phrase(int status);

// Everything but post() and run_in_background() is called on the connection's strand only (where the handler is called, and where
// posted functions run). After the client went away every call is a no-op.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual HttpRequest& request() = 0;
  // False once the client is gone or the reply is complete.
  virtual bool is_open() const = 0;
  // Headers that this request's reply gets in any case, added before it is sent.
  virtual HeaderList& reply_headers() = 0;
  // The whole reply. Precondition: nothing was sent yet.
  virtual void reply(HttpReply reply) = 0;
  // A reply in pieces: the head, any number of writes, the end. `head.body` is ignored. A client that reads too slowly (more
  // than ConnectionLimits::output_bytes_max waiting) is disconnected.
  virtual void begin_stream(HttpReply head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end_stream() = 0;
  // Bytes of this connection that were to be written so far, and how many of them the network has not taken yet.
  virtual uint64_t bytes_enqueued() const = 0;
  virtual size_t bytes_waiting() const = 0;
  // Called on the strand with the bytes of bytes_enqueued() that the network has taken, whenever it took some, the last time
  // when the reply is written whole. Destroyed after that, or when the client goes away.
  virtual void on_written(std::function<void(uint64_t bytes)> callback) = 0;
  // Disconnects at once, dropping what was not sent yet. The disconnect callback is called.
  virtual void abort() = 0;
  // Called once, on the strand, when the client goes away before the reply is complete. Destroyed when the reply is complete.
  virtual void on_disconnect(std::function<void()> callback) = 0;
  // Calls the function once, on the strand, unless the reply is complete or the client gone by then. The last call counts.
  virtual void call_after(std::chrono::milliseconds delay, std::function<void()> function) = 0;

  // Thread-safe: runs the function on the strand, in order of posting.
  virtual void post(std::function<void()> function) = 0;
  // Thread-safe: runs the function on a background thread, for work that would hold up other connections.
  virtual void run_in_background(std::function<void()> function) = 0;
};

}  // namespace takt::server
