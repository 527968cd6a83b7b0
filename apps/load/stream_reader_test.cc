// What a stream says about first tokens and gaps, and what others have taken for it.
#include "load/stream_reader.h"

#include <gtest/gtest.h>

#include "load/load_stats.h"

namespace takt::apps {
namespace {

base::Micros at_ms(int64_t ms) { return base::Micros(ms * 1000); }

std::string event(const std::string& json) { return "data: " + json + "\n\n"; }
std::string chat(const std::string& delta, const std::string& more = "") {
  return event(R"({"choices":[{"index":0,"delta":{)" + delta + R"(},"finish_reason":null}])" + more + "}");
}
std::string completion(const std::string& text, const std::string& more = "") {
  return event(R"({"choices":[{"index":0,"text":")" + text + R"(","finish_reason":null}])" + more + "}");
}
const std::string kFinish = event(R"({"choices":[{"index":0,"delta":{},"text":"","finish_reason":"length"}]})");
const std::string kDone = "data: [DONE]\n\n";
std::string usage(int prompt, int output) {
  return event(R"({"choices":[],"usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" +
               std::to_string(output) + R"(,"prompt_tokens_details":{"cached_tokens":3}}})");
}

// Reads (milliseconds, bytes) and ends at the last of them.
Reply read(const std::vector<std::pair<int64_t, std::string>>& pieces) {
  Reply reply;
  StreamReader reader(reply);
  for (const auto& [ms, bytes] : pieces) {
    reply.ended = at_ms(ms);
    reader.feed(bytes, at_ms(ms));
  }
  reader.finish();
  return reply;
}

TEST(StreamReader, ARoleIsNoToken) {
  const Reply reply = read(
      {{10, chat(R"("role":"assistant","content":"")")}, {1300, chat(R"("content":"Hi")")}, {1310, kFinish + kDone}});
  ASSERT_EQ(reply.chunks.size(), 1u);
  EXPECT_EQ(*ttft(reply), at_ms(1300));
  EXPECT_EQ(reply.text, "Hi");
}

TEST(StreamReader, NeitherAnEmptyTextNorTheFinishNorTheUsageIsAToken) {
  const Reply reply = read({{10, completion("a")},
                            {20, completion("")},
                            {30, completion("b")},
                            {500, kFinish},
                            {600, usage(7, 2)},
                            {601, kDone}});
  ASSERT_EQ(reply.chunks.size(), 2u);
  EXPECT_EQ(*longest_gap(reply), at_ms(20));
  EXPECT_EQ(*mean_itl_us(reply), 20'000);
  EXPECT_EQ(reply.finish_reason, "length");
  EXPECT_EQ(*reply.prompt_tokens, 7);
  EXPECT_EQ(*reply.cached_tokens, 3);
  EXPECT_EQ(*reply.completion_tokens, 2);
}

TEST(StreamReader, ThoughtsAndCallsOfToolsAreTokens) {
  const Reply reply = read({{10, chat(R"("reasoning_content":"hm")")},
                            {20, chat(R"("tool_calls":[{"index":0}])")},
                            {30, chat(R"("content":"x")")},
                            {31, kFinish + kDone}});
  EXPECT_EQ(reply.chunks.size(), 3u);
  EXPECT_EQ(*ttft(reply), at_ms(10));
}

TEST(StreamReader, AnyPiecesOfBytesGiveTheSame) {
  const std::string all = ": a comment\r\n\r\ndata:" + chat(R"("content":"a")").substr(5) +
                          "event: x\r\ndata: {\"choices\":\r\n" + "data: [{\"text\":\"b\"}]}\r\n\r\n" + usage(1, 2) +
                          "data: [DONE]";  // no line behind it
  for (size_t size = 1; size <= all.size(); ++size) {
    std::vector<std::pair<int64_t, std::string>> pieces;
    for (size_t i = 0; i < all.size(); i += size) pieces.emplace_back(1, all.substr(i, size));
    const Reply reply = read(pieces);
    ASSERT_EQ(reply.error_kind, "") << size << ": " << reply.error;
    ASSERT_EQ(reply.text, "ab") << size;
    ASSERT_EQ(reply.chunks.size(), 2u) << size;
    ASSERT_EQ(*reply.completion_tokens, 2) << size;
  }
}

TEST(StreamReader, ErrorsHaveAKind) {
  EXPECT_EQ(read({{1, completion("a")}, {2, event(R"({"error":{"message":"out of pages"}})")}}).error_kind,
            "error in stream");
  EXPECT_EQ(read({{1, event(R"({"error":{"message":"out of pages"}})")}}).error, "out of pages");
  EXPECT_EQ(read({{1, completion("a")}}).error_kind, "cut off");
  EXPECT_EQ(read({{1, event("{nonsense")}, {2, kDone}}).error_kind, "bad stream");
  EXPECT_EQ(read({{1, kFinish + kDone}}).error_kind, "no token");
  EXPECT_EQ(read({{1, completion("a")}, {2, kFinish}}).error_kind, "");  // some servers send no [DONE]
  EXPECT_EQ(error_text(R"({"error":{"message":"m"}})"), "m");
  EXPECT_EQ(error_text(R"({"detail":"d"})"), "d");
  EXPECT_EQ(error_text("<html>"), "<html>");
}

TEST(StreamReader, AChunkOfSeveralTokensIsSeveralGapsOfOneTokenEach) {
  // Speculation: 1, then 3, then 1 token. llama-server counts in `timings`, vLLM in `usage`.
  for (const char* name : {"timings\":{\"predicted_n", "usage\":{\"completion_tokens"}) {
    const auto counted = [&](const char* text, int total) {
      return completion(text, std::string(",\"") + name + "\":" + std::to_string(total) + "}");
    };
    const Reply reply =
        read({{100, counted("a", 1)}, {130, counted("bcd", 4)}, {150, counted("e", 5)}, {151, kFinish + kDone}});
    const auto gaps = token_gaps(reply);
    ASSERT_EQ(gaps.size(), 2u);
    EXPECT_EQ(gaps[0].us_per_token, 10'000);
    EXPECT_EQ(gaps[0].tokens, 3);
    EXPECT_EQ(gaps[1].us_per_token, 20'000);
    EXPECT_EQ(*mean_itl_us(reply), 12'500);     // 50 ms, 4 tokens
    EXPECT_EQ(*longest_gap(reply), at_ms(30));  // what the reader waited
  }
}

TEST(StreamReader, TokensWithoutTextAreSpreadOverTheGaps) {
  const Reply reply =
      read({{0, completion("a")}, {40, completion("b")}, {80, completion("c")}, {81, kFinish + usage(1, 5) + kDone}});
  double tokens = 0;
  for (const TokenGap& gap : token_gaps(reply)) tokens += gap.tokens;
  EXPECT_EQ(tokens, 4);
  EXPECT_EQ(*mean_itl_us(reply), 20'000);  // (80 − 0) ÷ (5 − 1)
}

TEST(StreamReader, OneTokenHasNoGapAndNotOneOfZero) {
  const Reply reply = read({{70, completion("a")}, {71, kFinish + usage(1, 1) + kDone}});
  EXPECT_FALSE(mean_itl_us(reply).has_value());
  EXPECT_FALSE(longest_gap(reply).has_value());
  LoadLimits limits;
  limits.itl_mean = base::Micros(1);
  const LoadSummary summary = summarise({{reply, 1, 1}}, limits);
  EXPECT_EQ(summary.itl.weight, 0);
  EXPECT_EQ(summary.itl_mean.weight, 0);  // no sample of 0 ms that flatters a mean
  EXPECT_EQ(summary.within, 1u);
}

}  // namespace
}  // namespace takt::apps
