#include "server/metrics/trace_export.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

namespace json = boost::json;

constexpr const char* kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceParent, IsTakenWhenWellFormedOnly) {
  const auto parent = try_trace_parent(kParent);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(parent->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(parent->is_sampled);
  EXPECT_FALSE(try_trace_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->is_sampled);
  EXPECT_TRUE(try_trace_parent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later").has_value());
  for (const char* bad : {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x"})
    EXPECT_FALSE(try_trace_parent(bad).has_value()) << bad;
}

// Takes one POST at a time and keeps its body.
class Collector {
 public:
  Collector() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Collector() { close(socket_); }
  uint16_t port() const { return port_; }
  // Waits for a request and answers it.
  std::string take(const std::string& status) {
    const int peer = accept(socket_, nullptr, nullptr);
    std::string text;
    char buffer[4096];
    for (;;) {
      const size_t end = text.find("\r\n\r\n");
      const size_t length = text.find("Content-Length: ");
      if (end != std::string::npos && text.size() >= end + 4 + std::stoul(text.substr(length + 16))) break;
      const ssize_t count = read(peer, buffer, sizeof buffer);
      if (count <= 0) break;
      text.append(buffer, static_cast<size_t>(count));
    }
    const std::string answer = "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(write(peer, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    close(peer);
    return text.substr(text.find("\r\n\r\n") + 4);
  }

 private:
  int socket_;
  uint16_t port_ = 0;
};

class TraceTest : public ServerTest {
 protected:
  void start_with(const std::string& url) {
    ServerOptions options;
    options.otlp_url = url;
    start({}, std::move(options));
  }
};

TEST_F(TraceTest, EveryRequestIsATraceWithItsPhases) {
  Collector collector;
  start_with("http://127.0.0.1:" + std::to_string(collector.port()));
  post("/v1/completions", R"({"prompt":"x","max_tokens":5})",
       std::string("x-request-id: traced\r\ntraceparent: ") + kParent + "\r\n");
  const json::value body = parsed(collector.take("200 OK"));
  const json::array& spans = body.at_pointer("/resourceSpans/0/scopeSpans/0/spans").as_array();
  ASSERT_GE(spans.size(), 2u);
  const json::object& root = spans[0].as_object();
  EXPECT_EQ(text_of(root.at("traceId")), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(text_of(root.at("parentSpanId")), "00f067aa0ba902b7");
  EXPECT_EQ(text_of(root.at("attributes").at(0).at_pointer("/value/stringValue")), "traced");
  std::string at = text_of(root.at("startTimeUnixNano"));
  for (size_t i = 1; i < spans.size(); ++i) {
    EXPECT_EQ(text_of(spans[i].at("parentSpanId")), text_of(root.at("spanId")));
    EXPECT_EQ(text_of(spans[i].at("startTimeUnixNano")), at);  // each begins where the one before ended
    at = text_of(spans[i].at("endTimeUnixNano"));
  }
  EXPECT_EQ(at, text_of(root.at("endTimeUnixNano")));
  EXPECT_TRUE(
      becomes_true([&] { return get("/metrics").body.find("\ntakt_traces_sent_total 1\n") != std::string::npos; }));
}

TEST_F(TraceTest, WhatTheCollectorDoesNotTakeIsCounted) {
  Collector collector;
  start_with("http://127.0.0.1:" + std::to_string(collector.port()));
  post("/v1/completions", R"({"prompt":"x","max_tokens":2})");
  collector.take("503 Service Unavailable");
  EXPECT_TRUE(
      becomes_true([&] { return get("/metrics").body.find("\ntakt_traces_dropped_total 1\n") != std::string::npos; }));
}

TEST_F(TraceTest, AnAddressThatIsNoneIsRefused) {
  ServerOptions options;
  options.port = 0;
  options.otlp_url = "collector:4318";
  const auto started = HttpServer::start(std::move(options));
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("collector:4318"), std::string::npos);
}

}  // namespace
}  // namespace takt::server
