#include "server/testing/http_test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace takt::server {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::string TestReply::header(std::string_view name) const {
  const std::string mark = "\r\n" + lower(name) + ": ";
  const size_t found = lower(head).find(mark);
  if (found == std::string::npos) return "";
  const size_t begin = found + mark.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

TestClient::TestClient(uint16_t port, int receive_buffer_bytes) {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  if (receive_buffer_bytes > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool TestClient::fill(int timeout_ms) {
  pollfd wait{socket_, POLLIN, 0};
  if (::poll(&wait, 1, timeout_ms) <= 0) return false;
  char bytes[65536];
  const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

bool TestClient::read_until(std::string_view mark, std::string& out) {
  size_t found;
  while ((found = buffer_.find(mark)) == std::string::npos) {
    if (!fill(20'000)) return false;
  }
  out = buffer_.substr(0, found);
  buffer_.erase(0, found + mark.size());
  return true;
}

bool TestClient::read_bytes(size_t count, std::string& out) {
  while (buffer_.size() < count) {
    if (!fill(20'000)) return false;
  }
  out.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

TestReply TestClient::receive(bool is_head_request) {
  TestReply reply;
  if (!read_until("\r\n\r\n", reply.head)) return reply;
  reply.head += "\r\n";
  if (reply.head.rfind("HTTP/1.1 ", 0) == 0) reply.status = std::atoi(reply.head.c_str() + 9);
  if (is_head_request || reply.status == 204 || reply.status == 304 || reply.status == 100) {
    reply.is_complete = true;
  } else if (reply.header("Transfer-Encoding") == "chunked") {
    std::string size;
    while (read_until("\r\n", size)) {
      const size_t count = std::strtoul(size.c_str(), nullptr, 16);
      std::string end;
      if (!read_bytes(count, reply.body) || !read_bytes(2, end) || end != "\r\n") break;
      if (count == 0) {
        reply.is_complete = true;
        break;
      }
    }
  } else if (const std::string length = reply.header("Content-Length"); !length.empty()) {
    reply.is_complete = read_bytes(std::strtoul(length.c_str(), nullptr, 10), reply.body);
  } else {
    while (fill(20'000)) continue;
    reply.body = std::exchange(buffer_, "");
    reply.is_complete = true;
  }
  return reply;
}

std::string TestClient::receive_some(int timeout_ms) {
  if (buffer_.empty()) fill(timeout_ms);
  return std::exchange(buffer_, "");
}

bool TestClient::waits_for_close(int timeout_ms) {
  for (;;) {
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, timeout_ms) <= 0) return false;
    char bytes[65536];
    if (::recv(socket_, bytes, sizeof bytes, 0) <= 0) return true;
  }
}

void TestClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void TestClient::reset() {
  const linger option{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &option, sizeof option);
  close();
}

std::string post_request(std::string_view path, std::string_view body, std::string_view extra_headers) {
  std::string out = "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  out += "Content-Length: " + std::to_string(body.size()) + "\r\n" + std::string(extra_headers) + "\r\n";
  return out += body;
}

TestReply post(uint16_t port, std::string_view path, std::string_view body, std::string_view extra_headers) {
  TestClient client(port);
  client.send(post_request(path, body, extra_headers));
  return client.receive();
}

TestReply get(uint16_t port, std::string_view path, std::string_view method, std::string_view extra_headers) {
  TestClient client(port);
  client.send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
              std::string(extra_headers) + "\r\n");
  return client.receive(method == "HEAD");
}

std::vector<std::string> events_of(std::string_view body) {
  std::vector<std::string> events;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    const std::string_view event = body.substr(0, end);
    if (end == std::string_view::npos || event.rfind("data: ", 0) != 0 || event.find('\n') != std::string_view::npos) {
      events.push_back("MALFORMED " + std::string(event));
      break;
    }
    events.emplace_back(event.substr(6));
    body.remove_prefix(end + 2);
  }
  return events;
}

}  // namespace takt::server
