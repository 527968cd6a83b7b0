#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>

namespace takt::server {

namespace http = boost::beast::http;

struct RequestParser::Impl {
  http::request_parser<http::string_body> parser;

  std::string_view field(http::field name) const {
    const auto value = parser.get()[name];
    return {value.data(), value.size()};
  }
};

RequestParser::RequestParser(const ConnectionLimits& limits)
    : impl_(std::make_unique<Impl>()), unused_bytes_max_(limits.head_bytes_max) {
  impl_->parser.header_limit(static_cast<uint32_t>(limits.head_bytes_max));
  impl_->parser.body_limit(limits.body_bytes_max);
  impl_->parser.eager(true);
}

RequestParser::~RequestParser() = default;

void RequestParser::fail(int status, std::string reason) {
  state_ = State::failed;
  failure_status_ = status;
  failure_reason_ = std::move(reason);
}

size_t RequestParser::feed(std::string_view bytes) {
  size_t used = 0;
  boost::system::error_code error;
  while (used < bytes.size() && !impl_->parser.is_done()) {
    const std::string_view rest = bytes.substr(used);
    const size_t count = impl_->parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    used += count;
    if (error || count == 0) break;
  }
  if (error == http::error::body_limit) {
    fail(413, "the request body is larger than the server accepts");
  } else if (error == http::error::header_limit) {
    fail(431, "the request's header is larger than the server accepts");
  } else if (error == http::error::bad_version) {
    fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  } else if (error && error != http::error::need_more) {
    fail(400, "malformed HTTP request: " + error.message());
  } else if (impl_->parser.is_done()) {
    state_ = State::complete;
  } else if (bytes.size() - used > unused_bytes_max_) {
    fail(431, "the request's header is larger than the server accepts");
  } else if (impl_->parser.is_header_done()) {
    state_ = State::body;
  }
  return used;
}

bool RequestParser::keeps_alive() const { return impl_->parser.keep_alive(); }
bool RequestParser::is_http_1_0() const { return impl_->parser.get().version() < 11; }

bool RequestParser::expects_continue() const {
  return !is_http_1_0() && boost::beast::iequals(impl_->parser.get()[http::field::expect], "100-continue");
}

bool RequestParser::expects_unknown() const {
  return !impl_->field(http::field::expect).empty() && !is_http_1_0() && !expects_continue();
}

size_t RequestParser::body_bytes() const {
  const size_t received = impl_->parser.get().body().size();
  const auto declared = impl_->parser.content_length();
  return declared ? std::max(received, static_cast<size_t>(*declared)) : received;
}

HttpRequest RequestParser::take() {
  auto message = impl_->parser.release();
  HttpRequest request;
  request.method = std::string(message.method_string());
  std::string target(message.target());
  // Absolute form ("http://host/path"), as a proxy may send it.
  if (const size_t scheme = target.find("://"); scheme != std::string::npos && target.front() != '/') {
    const size_t slash = target.find('/', scheme + 3);
    target = slash == std::string::npos ? "/" : target.substr(slash);
  }
  const size_t question = target.find('?');
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.path = target.substr(0, question);
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace takt::server
