// Clients that go away, or stop reading: their requests end at once, and nobody else notices.
#include <atomic>

#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

class DisconnectTest : public ServerTest {
 protected:
  static ServerOptions with(const std::function<void(ConnectionLimits&)>& change) {
    ServerOptions options;
    change(options.connection);
    return options;
  }
};

constexpr const char* kEndless = R"({"prompt":"x","stream":true,"ignore_eos":true})";

TEST_F(DisconnectTest, DisconnectCancelsInEveryStage) {
  start({.context_tokens = 1 << 30, .step_interval = std::chrono::milliseconds(1)});
  size_t cancelled = 0;
  for (const bool is_streaming : {true, false}) {
    for (const bool is_queued : {true, false}) {
      for (const bool is_reset : {true, false}) {
        model_->hold(is_queued);
        TestClient client(server_->port());
        client.send(post_request("/v1/completions", is_streaming ? kEndless : R"({"prompt":"x","n":2})"));
        const size_t choices = is_streaming ? 1 : 2;
        ASSERT_TRUE(becomes_true([&] { return model_->running_count() == choices; }));
        if (!is_queued) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        is_reset ? client.reset() : client.close();
        cancelled += choices;
        EXPECT_TRUE(becomes_true([&] { return model_->cancelled_count() == cancelled; }));
        EXPECT_EQ(model_->running_count(), 0u);
      }
    }
  }
  model_->hold(false);
  EXPECT_TRUE(becomes_true([&] { return server_->active_requests() == 0; }));
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"say:fine"})").status, 200);
}

TEST_F(DisconnectTest, SlowReaderCostsOnlyItself) {
  FakeModel::Options model_options;
  model_options.context_tokens = 1 << 30;
  model_options.step_interval = std::chrono::microseconds(100);
  model_options.extra_text = std::string(64 << 10, 'z');
  start(model_options, with([](ConnectionLimits& limits) { limits.output_bytes_max = 256 << 10; }));
  TestClient slow(server_->port(), 4096);
  slow.send(post_request("/v1/completions", kEndless));
  // It never reads: the kernel's buffers and ours fill up, then it is cut off and its request cancelled.
  EXPECT_TRUE(becomes_true([&] { return model_->cancelled_count() == 1; }, 20'000));
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"say:x"})").status, 200);
}

TEST_F(DisconnectTest, ReaderThatStopsIsTimedOut) {
  FakeModel::Options model_options;
  model_options.extra_text = std::string(1 << 20, 'z');
  model_options.step_interval = std::chrono::milliseconds(2);
  start(model_options, with([](ConnectionLimits& limits) { limits.write_timeout = std::chrono::milliseconds(200); }));
  TestClient stuck(server_->port(), 4096);
  stuck.send(post_request("/v1/completions", R"({"prompt":"x","max_tokens":16})"));  // one reply of 16 MiB
  ASSERT_TRUE(becomes_true([&] { return server_->active_requests() == 1; }));
  ASSERT_TRUE(becomes_true([&] { return model_->running_count() == 0; }));
  EXPECT_EQ(server_->active_requests(), 1u);  // not all of it fits into the kernel's buffers
  EXPECT_TRUE(becomes_true([&] { return server_->active_requests() == 0; }, 10'000));
}

// Healthy streams beside clients that leave at random moments: every one must get its whole answer.
TEST_F(DisconnectTest, NeighboursAreNotTouched) {
  start({.step_interval = std::chrono::microseconds(200)});
  const std::string body = R"({"prompt":"x","stream":true,"max_tokens":100,"seed":9})";
  const auto text_of_stream = [&] {
    std::string text;
    for (const std::string& event : events_of(post("/v1/completions", body).body)) {
      if (event != "[DONE]") text += text_of(parsed(event).at_pointer("/choices/0/text"));
    }
    return text;
  };
  const std::string alone = text_of_stream();
  EXPECT_EQ(alone.size(), 100u);
  std::atomic<bool> is_over{false};
  std::thread leaver([&] {
    for (int i = 0; !is_over; ++i) {
      TestClient client(server_->port());
      client.send(post_request("/v1/completions", kEndless));
      std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 3000));
      i % 2 == 0 ? client.reset() : client.close();
    }
  });
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 3; ++round) EXPECT_EQ(text_of_stream(), alone);
    });
  }
  for (std::thread& reader : readers) reader.join();
  is_over = true;
  leaver.join();
  EXPECT_TRUE(becomes_true([&] { return model_->running_count() == 0 && server_->active_requests() == 0; }));
}

}  // namespace
}  // namespace takt::server
