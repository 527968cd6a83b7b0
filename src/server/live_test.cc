// What watchers see: the live stream, the requests that ended, where their time went, and the dictionary of metrics.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "server/metrics/live_board.h"
#include "server/metrics/metric_table.h"
#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

namespace json = boost::json;

int64_t number(const json::value& value) { return value.to_number<int64_t>(); }

int64_t sum_of(const json::value& object) {
  int64_t sum = 0;
  for (const auto& [key, value] : object.as_object()) sum += number(value);
  return sum;
}

class LiveTest : public ServerTest {
 protected:
  json::value request(const std::string& id) {
    const TestReply reply = get("/v1/takt/requests/" + id);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply.body);
  }
  // The value of one line of /metrics; -1: it is not there.
  double metric_value(const std::string& line) {
    const std::string page = "\n" + get("/metrics").body;
    const size_t found = page.find("\n" + line + " ");
    return found == std::string::npos ? -1 : std::stod(page.substr(found + line.size() + 2));
  }
};

// The first events of a stream, by name, until one is as wanted.
class EventReader {
 public:
  explicit EventReader(uint16_t port) : client_(port) { client_.send("GET /v1/takt/live HTTP/1.1\r\nHost: x\r\n\r\n"); }
  json::value next(const std::string& event) {
    const std::string mark = "event: " + event + "\n";
    for (int i = 0; i < 1000; ++i) {
      const size_t begin = text_.find(mark);
      const size_t data = begin == std::string::npos ? begin : text_.find("data: ", begin);
      const size_t end = data == std::string::npos ? data : text_.find("\n\n", data);
      if (end != std::string::npos) {
        const json::value value = parsed(text_.substr(data + 6, end - data - 6));
        text_.erase(0, end);
        return value;
      }
      const std::string more = client_.receive_some();
      if (more.empty()) break;
      text_ += more;
    }
    ADD_FAILURE() << "no event '" << event << "' in: " << text_;
    return {};
  }

 private:
  TestClient client_;
  std::string text_;
};

TEST_F(LiveTest, SaysHelloAndTicks) {
  start();
  EventReader events(server_->port());
  const json::value hello = events.next("hello");
  EXPECT_EQ(text_of(hello.at_pointer("/model/name")), "fake");
  EXPECT_EQ(hello.at("classes").as_array().size(), 3u);
  EXPECT_TRUE(hello.at("machine").is_null());
  json::value tick = events.next("tick");
  EXPECT_EQ(text_of(tick.at("state")), "ready");
  EXPECT_TRUE(tick.at_pointer("/latency/ttft_us/p50").is_null());
  post("/v1/completions", R"({"prompt":"x","max_tokens":20})", "x-request-id: seen-by-all\r\n");
  for (int i = 0; i < 100 && tick.at("requests").as_array().empty(); ++i) tick = events.next("tick");
  ASSERT_FALSE(tick.at("requests").as_array().empty());
  const json::object& shown = tick.at("requests").as_array()[0].as_object();
  EXPECT_EQ(text_of(shown.at("id")), "seen-by-all");
  EXPECT_EQ(number(tick.at_pointer("/totals/requests")), 1);
  EXPECT_EQ(number(tick.at_pointer("/latency/ttft_us/count")), 1);
}

TEST_F(LiveTest, TellsAReaderThatTheModelIsBeingLoaded) {
  ServerOptions options;
  options.port = 0;
  auto started = HttpServer::start(std::move(options));
  ASSERT_TRUE(started.ok());
  server_ = std::move(*started);
  model_ = std::make_unique<FakeModel>(FakeModel::Options{});
  EventReader events(server_->port());
  EXPECT_TRUE(events.next("hello").at("model").is_null());
  EXPECT_EQ(text_of(events.next("tick").at("state")), "loading");
  server_->serve(model_->served());
  EXPECT_EQ(text_of(events.next("hello").at_pointer("/model/name")), "fake");
  EXPECT_EQ(text_of(events.next("tick").at("state")), "ready");
}

TEST_F(LiveTest, EndsWithTheServer) {
  start();
  EventReader events(server_->port());
  events.next("tick");
  server_->begin_drain();
  json::value tick = events.next("tick");
  while (text_of(tick.at("state")) != "draining") tick = events.next("tick");
  EXPECT_TRUE(becomes_true([&] { return server_->active_requests() == 0; }));
}

// A watcher that does not read: what waits for it stays what one tick is.
TEST_F(LiveTest, AReaderThatDoesNotReadCostsNothing) {
  start();
  TestClient sleeper(server_->port(), 1024);
  sleeper.send("GET /v1/takt/live HTTP/1.1\r\nHost: x\r\n\r\n");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","max_tokens":200})").status, 200);
  EXPECT_EQ(server_->active_requests(), 1u);
}

TEST_F(LiveTest, PhasesAndGapsSumExactly) {
  start();
  for (const bool is_streaming : {true, false}) {
    const std::string id = is_streaming ? "streamed" : "whole";
    const std::string body =
        std::string(R"({"prompt":"x","max_tokens":50,"stream":)") + (is_streaming ? "true}" : "false}");
    EXPECT_EQ(post("/v1/completions", body, "x-request-id: " + id + "\r\n").status, 200);
    ASSERT_TRUE(becomes_true([&] { return text_of(request(id).at("state")) == "finished"; }));
    const json::value shown = request("cmpl-" + id);
    EXPECT_EQ(sum_of(shown.at("phases_us")), number(shown.at("end_to_end_us")));
    EXPECT_EQ(shown.at("gaps").as_array().size(), 49u);
    int64_t at = number(shown.at_pointer("/first_token/at_us"));
    EXPECT_EQ(sum_of(shown.at_pointer("/first_token/parts")), number(shown.at_pointer("/first_token/gap_us")));
    for (const json::value& gap : shown.at("gaps").as_array()) {
      EXPECT_EQ(sum_of(gap.at("parts")), number(gap.at("gap_us")));
      EXPECT_EQ(number(gap.at("at_us")), at + number(gap.at("gap_us")));
      at = number(gap.at("at_us"));
    }
    EXPECT_FALSE(shown.at("words").as_array().empty());
  }
  const json::value list = parsed(get("/v1/takt/requests").body);
  ASSERT_EQ(list.at("requests").as_array().size(), 2u);
  EXPECT_EQ(text_of(list.at_pointer("/requests/0/id")), "whole");
  EXPECT_EQ(get("/v1/takt/requests/nobody").status, 404);
}

TEST_F(LiveTest, TimingsOnRequest) {
  start();
  const json::value plain = parsed(post("/v1/completions", R"({"prompt":"x","max_tokens":5})").body);
  EXPECT_FALSE(plain.at("timings").as_object().contains("phases_us"));
  const json::value reply = parsed(post("/v1/completions", R"({"prompt":"x","max_tokens":5,"timings":true})").body);
  const json::value& timings = reply.at("timings");
  EXPECT_EQ(sum_of(timings.at("phases_us")), number(timings.at("end_to_end_us")));
  const int64_t parts = sum_of(timings.at("prefill_parts_us")) + sum_of(timings.at("decode_parts_us"));
  EXPECT_EQ(parts, number(timings.at("end_to_end_us")) - number(timings.at_pointer("/phases_us/prepare")));
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","timings":3})").status, 400);
}

TEST_F(LiveTest, RememberedRequestsAreBounded) {
  start();
  for (size_t i = 0; i < kRequestsKept + 20; ++i)
    post("/v1/completions", R"({"prompt":"x","max_tokens":1})", "x-request-id: r" + std::to_string(i) + "\r\n");
  ASSERT_TRUE(becomes_true(
      [&] { return parsed(get("/v1/takt/requests").body).at("requests").as_array().size() <= kRequestsKept; }));
  EXPECT_EQ(get("/v1/takt/requests/r0").status, 404);
  EXPECT_EQ(get("/v1/takt/requests/r" + std::to_string(kRequestsKept + 19)).status, 200);
}

// ---- what others' metrics got wrong

TEST_F(LiveTest, OneTokenIsNoGapAndNoTimePerToken) {
  start();
  post("/v1/completions", R"({"prompt":"x","max_tokens":1})");
  EXPECT_EQ(metric_value("takt_time_to_first_token_seconds_count"), 1);
  EXPECT_EQ(metric_value("takt_inter_token_latency_seconds_count"), 0);
  EXPECT_EQ(metric_value("takt_decode_mean_gap_seconds_count"), 0);
}

TEST_F(LiveTest, GapsAreCountedPerTokenWithinDecode) {
  start({.step_interval = std::chrono::microseconds(500)});
  post("/v1/completions", R"({"prompt":"x","max_tokens":30})");
  EXPECT_EQ(metric_value("takt_inter_token_latency_seconds_count"), 29);
  // Decode ends with the request, which may be told a moment after its last token.
  const double gaps = metric_value("takt_inter_token_latency_seconds_sum");
  EXPECT_GE(gaps, 29 * 0.0005 * 0.5);
  EXPECT_LE(gaps, metric_value("takt_decode_seconds_sum") + 1e-9);
}

TEST_F(LiveTest, TimeToFirstTokenHasTheQueueInIt) {
  start();
  const double ttft = [&] {
    post("/v1/completions", R"({"prompt":"x","max_tokens":3})");
    return metric_value("takt_time_to_first_token_seconds_sum");
  }();
  EXPECT_NEAR(ttft, metric_value("takt_queue_seconds_sum") + metric_value("takt_prefill_seconds_sum"), 1e-9);
  EXPECT_GE(metric_value("takt_e2e_seconds_sum"), ttft);
}

TEST_F(LiveTest, EveryChoiceHasItsFigures) {
  start();
  post("/v1/completions", R"({"prompt":"x","max_tokens":4,"n":3})", "x-request-id: three\r\n");
  EXPECT_EQ(metric_value("takt_time_to_first_token_seconds_count"), 3);
  EXPECT_EQ(metric_value("takt_output_tokens_total"), 12);
  EXPECT_EQ(number(request("three").at("output_tokens")), 4);
  EXPECT_EQ(number(request("three%232").at("output_tokens")), 4);
}

// Other names, the same figures.
TEST_F(LiveTest, ForeignNamesSayTheSame) {
  start();
  post("/v1/completions", R"({"prompt":"say:Hello"})");
  const std::string labels = R"({engine="0",model_name="fake"})";
  for (const auto& [theirs, ours] : std::map<std::string, std::string>{
           {"vllm:generation_tokens_total" + labels, "takt_output_tokens_total"},
           {"vllm:time_to_first_token_seconds_sum" + labels, "takt_time_to_first_token_seconds_sum"},
           {"vllm:inter_token_latency_seconds_count" + labels, "takt_inter_token_latency_seconds_count"},
           {"vllm:e2e_request_latency_seconds_sum" + labels, "takt_e2e_seconds_sum"},
           {"vllm:num_requests_waiting" + labels, "takt_requests_waiting"},
           {"llamacpp:tokens_predicted_total", "takt_output_tokens_total"},
           {"llamacpp:prompt_tokens_total", "takt_prefill_tokens_total"}}) {
    EXPECT_GE(metric_value(ours), 0) << ours;
    EXPECT_EQ(metric_value(theirs), metric_value(ours)) << theirs;
  }
  EXPECT_EQ(metric_value(R"(vllm:request_success_total{engine="0",finished_reason="stop",model_name="fake"})"), 1);
}

// Nothing is shown that the dictionary does not have, under the help text that it has.
TEST_F(LiveTest, MetricsAreTheDictionarys) {
  start();
  post("/v1/completions", R"({"prompt":"say:Hello"})");
  std::istringstream page(get("/metrics").body);
  std::string line;
  size_t count = 0;
  while (std::getline(page, line)) {
    if (line.rfind("# HELP ", 0) != 0) continue;
    const size_t end = line.find(' ', 7);
    EXPECT_EQ(line.substr(end + 1), metric(line.substr(7, end - 7)).formula);
    ++count;
  }
  EXPECT_GT(count, 60u);
}

TEST(MetricTable, TheDocumentIsCurrent) {
  std::ifstream file(std::string(TAKT_SOURCE_DIR) + "/docs/METRICS.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), metrics_markdown()) << "run: takt metrics > docs/METRICS.md";
}

}  // namespace
}  // namespace takt::server
