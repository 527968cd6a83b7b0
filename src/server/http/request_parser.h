// HTTP/1.0 and 1.1 requests from bytes as they come, without sockets. Boost.Beast does the parsing, behind this interface.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/limits.h"

namespace takt::server {

// Parses one request; a further one needs a new parser.
class RequestParser {
 public:
  enum class State { head, body, complete, failed };

  explicit RequestParser(const ConnectionLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes bytes and returns how many it used. The caller gives the rest again, with more behind, unless complete or failed.
  // An unused rest beyond limits.head_bytes_max fails. Precondition: state() is head or body.
  size_t feed(std::string_view bytes);
  State state() const { return state_; }

  // With failed: the status to answer (400, 413, 431, 505) and why.
  int failure_status() const { return failure_status_; }
  const std::string& failure_reason() const { return failure_reason_; }

  // The rest: precondition body or complete.
  bool keeps_alive() const;  // the client wants the connection to stay open after the reply
  bool is_http_1_0() const;
  bool expects_continue() const;  // it waits for "100 Continue" before it sends the body
  bool expects_unknown() const;   // an Expect header with anything else: 417
  size_t body_bytes() const;      // declared or received so far, whichever is larger
  HttpRequest take();             // precondition: complete. request_id stays empty.

 private:
  struct Impl;
  void fail(int status, std::string reason);

  std::unique_ptr<Impl> impl_;
  size_t unused_bytes_max_;
  State state_ = State::head;
  int failure_status_ = 0;
  std::string failure_reason_;
};

}  // namespace takt::server
