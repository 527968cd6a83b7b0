// What clients do to a server's connections: well-behaved, unlucky and hostile ones.
#include <boost/json/object.hpp>

#include "server/http/origin.h"
#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

class HttpTest : public ServerTest {
 protected:
  static ServerOptions with(const std::function<void(ConnectionLimits&)>& change) {
    ServerOptions options;
    change(options.connection);
    return options;
  }
  std::string ask(const std::string& text) {
    const TestReply reply = post("/v1/completions", R"({"prompt":"say:)" + text + "\"}");
    return reply.status == 200 ? text_of(parsed(reply.body).at_pointer("/choices/0/text")) : reply.body;
  }
};

constexpr const char* kEndless = R"({"prompt":"x","stream":true,"ignore_eos":true})";

TEST_F(HttpTest, SmallEndpoints) {
  start();
  EXPECT_EQ(get("/health").body, R"({"status":"ok"})");
  EXPECT_EQ(get("/v1/health").status, 200);
  const auto models = parsed(get("/v1/models").body);
  EXPECT_EQ(text_of(models.at_pointer("/data/0/id")), "fake");
  EXPECT_EQ(models.at_pointer("/data/0/meta/n_ctx").as_int64(), 4096);
  EXPECT_EQ(text_of(parsed(get("/v1/models/f%61ke").body).at("id")), "fake");
  EXPECT_EQ(get("/models").status, 200);
  EXPECT_EQ(get("/v1/models/other").status, 404);
  EXPECT_NE(get("/").body.find("Takt"), std::string::npos);
  EXPECT_EQ(get("/?x=1").status, 200);
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(error_field(get("/nothing"), "type"), "not_found_error");
  EXPECT_EQ(get("http://host:80/health").status, 200);
}

TEST_F(HttpTest, Methods) {
  start();
  const TestReply wrong = get("/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("Allow"), "POST, OPTIONS");
  EXPECT_EQ(post("/health", "").status, 405);
  EXPECT_EQ(get("/v1/completions", "OPTIONS").status, 204);
  EXPECT_EQ(get("/health", "OPTIONS").header("Allow"), "GET, HEAD, OPTIONS");
  const TestReply head = get("/health", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "15");
  EXPECT_EQ(get("/health", "BREW").status, 405);
}

TEST_F(HttpTest, TokenizeAndBack) {
  start();
  EXPECT_EQ(post("/tokenize", R"({"content":"ab"})").body, R"({"tokens":[97,98]})");
  EXPECT_EQ(post("/tokenize", R"({"content":"a😀","with_pieces":true})").body.find(R"({"id":97,"piece":"a"})") !=
                std::string::npos,
            true);
  EXPECT_NE(post("/tokenize", R"({"content":"漢","with_pieces":true})").body.find(R"("piece":[230])"),
            std::string::npos);
  const auto special = parsed(post("/tokenize", R"({"content":"<|im_end|>","add_special":true})").body);
  EXPECT_EQ(special.at("tokens").as_array().size(), 2u);
  const auto plain = parsed(post("/tokenize", R"({"content":"<|im_end|>","parse_special":false})").body);
  EXPECT_GT(plain.at("tokens").as_array().size(), 2u);
  EXPECT_EQ(post("/detokenize", R"({"tokens":[97,195,169,195]})").body, "{\"content\":\"aé\xEF\xBF\xBD\"}");
  for (const char* body : {R"({"tokens":[999999]})", R"({"tokens":[-1]})", R"({"tokens":"x"})", "{}"}) {
    EXPECT_EQ(error_field(post("/detokenize", body), "param"), "tokens") << body;
  }
  EXPECT_EQ(error_field(post("/tokenize", R"({"content":5})"), "param"), "content");
}

TEST_F(HttpTest, LoadingThenReadyThenDraining) {
  ServerOptions options;
  options.port = 0;
  auto started = HttpServer::start(options);
  ASSERT_TRUE(started.ok());
  server_ = std::move(*started);
  EXPECT_EQ(get("/health").status, 503);
  EXPECT_EQ(get("/metrics").status, 200);
  EXPECT_EQ(error_field(post("/v1/completions", R"({"prompt":"x"})"), "code"), "loading_model");
  model_ = std::make_unique<FakeModel>(FakeModel::Options{});
  server_->serve(model_->served());
  EXPECT_EQ(get("/health").status, 200);
  model_->hold(true);
  TestClient running(server_->port());
  running.send(post_request("/v1/completions", R"({"prompt":"say:to the end"})"));
  ASSERT_TRUE(becomes_true([&] { return model_->running_count() == 1; }));
  server_->begin_drain();
  const TestReply refused = post("/v1/completions", R"({"prompt":"x"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_field(refused, "code"), "shutting_down");
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_EQ(get("/health").status, 503);
  std::thread stopper([&] { server_->stop(std::chrono::seconds(10)); });
  model_->hold(false);
  EXPECT_EQ(text_of(parsed(running.receive().body).at_pointer("/choices/0/text")), "to the end");
  stopper.join();
  EXPECT_FALSE(TestClient(server_->port()).is_connected());
}

TEST_F(HttpTest, StopCancelsWhatDoesNotEnd) {
  start({.context_tokens = 1 << 30, .step_interval = std::chrono::milliseconds(1)});
  TestClient client(server_->port());
  client.send(post_request("/v1/completions", kEndless));
  client.receive_some();
  const auto begin = std::chrono::steady_clock::now();
  server_->stop(std::chrono::milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(becomes_true([&] { return model_->running_count() == 0; }));
}

TEST_F(HttpTest, AddressInUse) {
  start();
  ServerOptions options;
  options.port = server_->port();
  EXPECT_EQ(HttpServer::start(options).error().code, base::ErrorCode::io);
  options.host = "not an address";
  EXPECT_EQ(HttpServer::start(options).error().code, base::ErrorCode::invalid_argument);
}

TEST_F(HttpTest, RequestIds) {
  start();
  EXPECT_EQ(get("/health", "GET", "X-Request-Id: my-id.1\r\n").header("x-request-id"), "my-id.1");
  EXPECT_EQ(get("/health", "GET", "X-Request-Id: a b\r\n").header("x-request-id").size(), 24u);
  EXPECT_NE(get("/health").header("x-request-id"), get("/health").header("x-request-id"));
  const TestReply reply = post("/v1/completions", R"({"prompt":"say:x"})", "x-request-id: abc\r\n");
  EXPECT_EQ(text_of(parsed(reply.body).at("id")), "cmpl-abc");
}

TEST_F(HttpTest, SplitAtEveryByte) {
  start();
  const std::string request =
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "a\r\n{\"prompt\":\r\n9\r\n\"say:abc\"\r\n1\r\n}\r\n0\r\n\r\n";
  for (size_t cut = 1; cut < request.size(); ++cut) {
    TestClient client(server_->port());
    client.send(request.substr(0, cut));
    if (cut % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    client.send(request.substr(cut));
    const TestReply reply = client.receive();
    ASSERT_EQ(reply.status, 200) << cut << reply.body;
    EXPECT_EQ(text_of(parsed(reply.body).at_pointer("/choices/0/text")), "abc");
  }
  TestClient client(server_->port());
  for (const char byte : request) client.send(std::string(1, byte));
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(HttpTest, ResetsAtEveryByte) {
  start();
  const std::string request = post_request("/v1/completions", kEndless);
  for (size_t cut = 0; cut <= request.size(); ++cut) {
    TestClient client(server_->port());
    client.send(request.substr(0, cut));
    cut % 2 == 0 ? client.reset() : client.close();
  }
  EXPECT_TRUE(becomes_true([&] { return model_->running_count() == 0; }));
  EXPECT_EQ(ask("fine"), "fine");
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  start({.step_interval = std::chrono::microseconds(200)});
  TestClient client(server_->port());
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += post_request("/v1/completions", R"({"prompt":"say:)" + std::to_string(i) + "\"}");
  }
  client.send(requests);
  for (int i = 0; i < 20; ++i) {
    const TestReply reply = client.receive();
    ASSERT_EQ(reply.status, 200);
    EXPECT_EQ(text_of(parsed(reply.body).at_pointer("/choices/0/text")), std::to_string(i));
    EXPECT_EQ(reply.header("Connection"), "keep-alive");
  }
}

TEST_F(HttpTest, TooMuchPipeliningClosesAfterTheReply) {
  start();
  model_->hold(true);
  TestClient client(server_->port());
  client.send(post_request("/v1/completions", R"({"prompt":"say:x"})"));
  ASSERT_TRUE(becomes_true([&] { return model_->running_count() == 1; }));
  client.send(std::string(1 << 20, 'x'));
  model_->hold(false);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.waits_for_close(3000));
}

TEST_F(HttpTest, OldClients) {
  start();
  TestClient client(server_->port());
  client.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.receive().header("Connection"), "close");
  EXPECT_TRUE(client.waits_for_close(3000));
  TestClient streaming(server_->port());
  const std::string body = R"({"prompt":"say:abc","stream":true})";
  streaming.send("POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const TestReply reply = streaming.receive();
  EXPECT_EQ(reply.header("Transfer-Encoding"), "");
  EXPECT_EQ(events_of(reply.body).back(), "[DONE]");
}

TEST_F(HttpTest, ExpectContinue) {
  start();
  TestClient client(server_->port());
  const std::string body = R"({"prompt":"say:ok"})";
  client.send("POST /v1/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().status, 200);
  TestClient other(server_->port());
  other.send("POST /v1/completions HTTP/1.1\r\nExpect: cake\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(other.receive().status, 417);
}

TEST_F(HttpTest, LargeBodiesAreRefused) {
  start({}, with([](ConnectionLimits& limits) { limits.body_bytes_max = 1000; }));
  const TestReply declared = post("/v1/completions", std::string(2000, ' '));
  EXPECT_EQ(declared.status, 413);
  EXPECT_EQ(error_field(declared, "code"), "request_too_large");
  TestClient chunked(server_->port());
  chunked.send("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 30; ++i) chunked.send("40\r\n" + std::string(64, ' ') + "\r\n");
  EXPECT_EQ(chunked.receive().status, 413);
  TestClient huge(server_->port());
  huge.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n");
  EXPECT_EQ(huge.receive().status, 413);
  EXPECT_EQ(ask("fine"), "fine");
}

TEST_F(HttpTest, AllBodiesTogetherAreBounded) {
  start({}, with([](ConnectionLimits& limits) { limits.body_bytes_total_max = 5000; }));
  TestClient first(server_->port());
  first.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 4000\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  TestClient second(server_->port());
  second.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 4000\r\n\r\n");
  EXPECT_EQ(second.receive().status, 503);
  first.close();
  second.close();
  EXPECT_TRUE(becomes_true(
      [&] { return post("/tokenize", R"({"content":")" + std::string(4000, 'a') + "\"}").status == 200; }));
}

TEST_F(HttpTest, MalformedHttp) {
  start();
  const std::vector<std::pair<std::string, int>> cases = {
      {"\x16\x03\x01\x02", 0},  // a TLS hello: not even a line, so nothing comes before more bytes or the timeout
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(200'000, 'a'), 431},
  };
  for (const auto& [bytes, status] : cases) {
    TestClient client(server_->port());
    client.send(bytes);
    if (status == 0) continue;
    EXPECT_EQ(client.receive().status, status) << bytes.substr(0, 60);
    EXPECT_TRUE(client.waits_for_close(3000));
  }
  EXPECT_EQ(ask("fine"), "fine");
}

TEST_F(HttpTest, SlowClientsAreTimedOut) {
  start({}, with([](ConnectionLimits& limits) {
          limits.head_timeout = std::chrono::milliseconds(100);
          limits.body_timeout = std::chrono::milliseconds(100);
          limits.idle_timeout = std::chrono::milliseconds(100);
        }));
  TestClient silent(server_->port());
  TestClient head(server_->port());
  head.send("GET /health HT");
  TestClient body(server_->port());
  body.send("POST /tokenize HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  TestClient idle(server_->port());
  idle.send("GET /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(idle.receive().status, 200);
  EXPECT_EQ(head.receive().status, 408);
  EXPECT_EQ(body.receive().status, 408);
  EXPECT_TRUE(silent.waits_for_close(3000));
  EXPECT_TRUE(idle.waits_for_close(3000));
}

TEST_F(HttpTest, ConnectionLimit) {
  start({}, with([](ConnectionLimits& limits) { limits.connections_max = 2; }));
  TestClient first(server_->port());
  first.send("GET /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(first.receive().status, 200);
  TestClient second(server_->port());
  second.send("GET /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(second.receive().status, 200);
  TestClient third(server_->port());
  const TestReply reply = third.receive();
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.is_complete);
  EXPECT_EQ(error_field(reply, "code"), "too_many_connections");
  first.close();
  EXPECT_TRUE(becomes_true([&] { return get("/health").status == 200; }));
}

TEST_F(HttpTest, WebPages) {
  start();
  const char* body = R"({"prompt":"say:x"})";
  EXPECT_EQ(post("/v1/completions", body, "Origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(post("/v1/completions", body, "Origin: null\r\n").status, 403);
  const TestReply local = post("/v1/completions", body, "Origin: http://localhost:3000\r\n");
  EXPECT_EQ(local.status, 200);
  EXPECT_EQ(local.header("Access-Control-Allow-Origin"), "http://localhost:3000");
  const TestReply preflight =
      get("/v1/completions", "OPTIONS", "Origin: http://127.0.0.1:1\r\nAccess-Control-Request-Method: POST\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Methods"), "POST, OPTIONS");
  EXPECT_EQ(post("/v1/completions", body).header("Access-Control-Allow-Origin"), "");
}

TEST(Origin, Rules) {
  const std::vector<std::string> none;
  EXPECT_TRUE(is_origin_allowed("http://[::1]:80", "x", none, true));
  EXPECT_FALSE(is_origin_allowed("http://localhost.evil.com", "localhost", none, true));
  EXPECT_FALSE(is_origin_allowed("http://evil.com", "evil.com", none, true));  // DNS rebinding
  EXPECT_TRUE(is_origin_allowed("http://box.lan:8080", "box.lan:8080", none, false));
  EXPECT_FALSE(is_origin_allowed("http://evil.com", "box.lan:8080", none, false));
  EXPECT_FALSE(is_origin_allowed("", "", none, false));
  EXPECT_TRUE(is_origin_allowed("https://a.b", "x", {"https://a.b"}, true));
  EXPECT_TRUE(is_origin_allowed("null", "x", {"*"}, true));
}

TEST_F(HttpTest, Metrics) {
  start();
  EXPECT_EQ(ask("hello"), "hello");
  EXPECT_EQ(post("/v1/completions", "{}").status, 400);
  const TestReply reply = get("/metrics");
  EXPECT_EQ(reply.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line : {"takt_requests_finished_total{endpoint=\"completions\",outcome=\"stop\"} 1",
                           "takt_requests_refused_total{endpoint=\"completions\",reason=\"invalid_value\"} 1",
                           "takt_output_tokens_total 6", "takt_http_replies_total{code=\"200\"} 1",
                           "takt_requests_decoding 0", "takt_kv_pages_free 100", "takt_prefill_seconds_count 1",
                           "takt_decode_seconds_count 1", "takt_preemptions_total 0"}) {
    EXPECT_NE(reply.body.find(line), std::string::npos) << line << "\n" << reply.body;
  }
}

}  // namespace
}  // namespace takt::server
