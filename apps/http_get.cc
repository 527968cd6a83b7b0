#include "http_get.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace takt::apps {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr auto kTimeout = std::chrono::seconds(30);
constexpr uint64_t kBodyBytesMax = uint64_t{256} << 20;

struct Address {
  std::string host, port;
};

base::Result<Address> address_of(const std::string& url) {
  const std::string scheme = "http://";
  if (url.substr(0, scheme.size()) != scheme)
    return base::Error{base::ErrorCode::invalid_argument, "'" + url + "' is not http://HOST[:PORT]"};
  std::string rest = url.substr(scheme.size());
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  const bool has_port = colon != std::string::npos && rest.find(']', colon) == std::string::npos;
  Address address{has_port ? rest.substr(0, colon) : rest, has_port ? rest.substr(colon + 1) : "80"};
  if (address.host.size() > 2 && address.host.front() == '[')
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || address.port.empty())
    return base::Error{base::ErrorCode::invalid_argument, "'" + url + "' names no host or port"};
  return address;
}

}  // namespace

base::Result<HttpAnswer> http_get(const std::string& url, const std::string& path, const std::string& api_key) {
  const auto address = address_of(url);
  if (!address) return address.error();
  try {
    asio::io_context io;
    asio::ip::tcp::resolver resolver(io);
    boost::beast::tcp_stream stream(io);
    stream.expires_after(kTimeout);
    stream.connect(resolver.resolve(address->host, address->port));
    http::request<http::empty_body> request(http::verb::get, path, 11);
    request.set(http::field::host, address->host + ":" + address->port);
    request.set(http::field::connection, "close");
    if (!api_key.empty()) request.set(http::field::authorization, "Bearer " + api_key);
    http::write(stream, request);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    http::read(stream, buffer, parser);
    return HttpAnswer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
  } catch (const std::exception& exception) {
    return base::Error{base::ErrorCode::io, url + ": " + exception.what()};
  }
}

}  // namespace takt::apps
