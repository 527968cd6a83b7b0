// What generation endpoints refuse, and how: the field's name, the numbers, and everybody else's work going on.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

namespace json = boost::json;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

class GenerationErrorsTest : public ServerTest {
 protected:
  std::string completed_text(const std::string& body) {
    const TestReply reply = post(kCompletions, body);
    return reply.status == 200 ? text_of(parsed(reply.body).at_pointer("/choices/0/text")) : reply.body;
  }
};

struct BadRequest {
  const char* path;
  std::string body;
  const char* param;
};

std::vector<BadRequest> bad_completions() {
  std::string many_stops = "[";
  for (int i = 0; i < 10'000; ++i) many_stops += i == 0 ? "\"a\"" : ",\"a\"";
  return {
      {kCompletions, R"({})", "prompt"},
      {kCompletions, R"({"prompt":null})", "prompt"},
      {kCompletions, R"({"prompt":5})", "prompt"},
      {kCompletions, R"({"prompt":[]})", "prompt"},
      {kCompletions, R"({"prompt":[1,"a"]})", "prompt"},
      {kCompletions, R"({"prompt":["a",1]})", "prompt"},
      {kCompletions, R"({"prompt":[99999999]})", "prompt"},
      {kCompletions, R"({"prompt":[-1]})", "prompt"},
      {kCompletions, R"({"prompt":[1.5]})", "prompt"},
      {kCompletions, R"({"prompt":[[]]})", "prompt"},
      {kCompletions, R"({"prompt":"x","model":5})", "model"},
      {kCompletions, R"({"prompt":"x","max_tokens":-2})", "max_tokens"},
      {kCompletions, R"({"prompt":"x","max_tokens":"5"})", "max_tokens"},
      {kCompletions, R"({"prompt":"x","max_tokens":1.5})", "max_tokens"},
      {kCompletions, R"({"prompt":"x","max_tokens":1e300})", "max_tokens"},
      {kCompletions, R"({"prompt":"x","max_tokens":99999999999999999999999})", "max_tokens"},
      {kCompletions, R"({"prompt":"x","n_predict":-3})", "n_predict"},
      {kCompletions, R"({"prompt":"x","temperature":-0.1})", "temperature"},
      {kCompletions, R"({"prompt":"x","temperature":"hot"})", "temperature"},
      {kCompletions, R"({"prompt":"x","temperature":1e308})", "temperature"},
      {kCompletions, R"({"prompt":"x","top_p":1.1})", "top_p"},
      {kCompletions, R"({"prompt":"x","min_p":-1})", "min_p"},
      {kCompletions, R"({"prompt":"x","top_k":-2})", "top_k"},
      {kCompletions, R"({"prompt":"x","seed":1.5})", "seed"},
      {kCompletions, R"({"prompt":"x","seed":"1"})", "seed"},
      {kCompletions, R"({"prompt":"x","repeat_penalty":0})", "repeat_penalty"},
      {kCompletions, R"({"prompt":"x","frequency_penalty":3})", "frequency_penalty"},
      {kCompletions, R"({"prompt":"x","stop":5})", "stop"},
      {kCompletions, R"({"prompt":"x","stop":["a",5]})", "stop"},
      {kCompletions, R"({"prompt":"x","stop":)" + many_stops + "]}", "stop"},
      {kCompletions, R"({"prompt":"x","stop":")" + std::string(100'000, 'a') + "\"}", "stop"},
      {kCompletions, R"({"prompt":"x","logprobs":21})", "logprobs"},
      {kCompletions, R"({"prompt":"x","logprobs":true})", "logprobs"},
      {kCompletions, R"({"prompt":"x","n":0})", "n"},
      {kCompletions, R"({"prompt":"x","n":100000})", "n"},
      {kCompletions, R"({"prompt":["x","y"],"n":100})", "n"},
      {kCompletions, R"({"prompt":"x","stream":"yes"})", "stream"},
      {kCompletions, R"({"prompt":"x","stream_options":{"include_usage":1}})", "stream_options.include_usage"},
      {kCompletions, R"({"prompt":"x","logit_bias":{"x":1}})", "logit_bias"},
      {kCompletions, R"({"prompt":"x","logit_bias":{"999999":1}})", "logit_bias"},
      {kCompletions, R"({"prompt":"x","logit_bias":{"1":"a"}})", "logit_bias"},
      {kCompletions, R"({"prompt":"x","logit_bias":[1]})", "logit_bias"},
      {kCompletions, R"({"prompt":"x","suffix":"s"})", "suffix"},
      {kCompletions, R"({"prompt":"x","best_of":3})", "best_of"},
      {kCompletions, R"({"prompt":"x","grammar":"root ::= x"})", "grammar"},
      {kCompletions, R"({"prompt":"x","service_class":"royal"})", "service_class"},
      {kCompletions, R"({"prompt":"x","user":5})", "user"},
  };
}

std::vector<BadRequest> bad_chats() {
  const std::string message = R"({"messages":[{"role":"user","content":"x"}],)";
  return {
      {kChat, R"({})", "messages"},
      {kChat, R"({"messages":"x"})", "messages"},
      {kChat, R"({"messages":[]})", "messages"},
      {kChat, R"({"messages":[5]})", "messages[0]"},
      {kChat, R"({"messages":[{"role":"user","content":"a"},{"content":"x"}]})", "messages[1].role"},
      {kChat, R"({"messages":[{"role":5,"content":"x"}]})", "messages[0].role"},
      {kChat, R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {kChat, R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "messages[0].content"},
      {kChat, R"({"messages":[{"role":"user","content":["x"]}]})", "messages[0].content"},
      {kChat, message + R"("top_logprobs":3})", "top_logprobs"},
      {kChat, message + R"("logprobs":3})", "logprobs"},
      {kChat, message + R"("tools":{}})", "tools"},
      {kChat, message + R"("tool_choice":"required"})", "tool_choice"},
      {kChat, message + R"("response_format":{"type":"json_object"}})", "response_format.type"},
      {kChat, message + R"("chat_template_kwargs":[]})", "chat_template_kwargs"},
  };
}

TEST_F(GenerationErrorsTest, ErrorsNameTheField) {
  start();
  std::vector<BadRequest> cases = bad_completions();
  for (BadRequest& bad : bad_chats()) cases.push_back(std::move(bad));
  for (const BadRequest& bad : cases) {
    const TestReply reply = post(bad.path, bad.body);
    EXPECT_EQ(reply.status, 400) << bad.body.substr(0, 200);
    EXPECT_EQ(error_field(reply, "param"), bad.param) << bad.body.substr(0, 200) << reply.body;
  }
  EXPECT_EQ(completed_text(R"({"prompt":"say:fine","response_format":{"type":"text"},"best_of":1,"suffix":""})"),
            "fine");
}

TEST_F(GenerationErrorsTest, BrokenJson) {
  start();
  const std::string deep(100'000, '[');
  const std::vector<std::string> bodies = {"",
                                           "{",
                                           "[]",
                                           "5",
                                           "{\"prompt\":\"x\"} x",
                                           "{\"prompt\":\"\xff\"}",
                                           "{\"prompt\":\"\\ud800\"}",
                                           "{\"prompt\":" + deep,
                                           "{\"prompt\":" + deep + std::string(100'000, ']') + "}",
                                           "{\"prompt\":\"x\",}",
                                           std::string("{\"prompt\":\"x\"\0}", 15),
                                           "{\"prompt\":\"x\",\"n\":1e999999}",
                                           "{\"prompt\":\"x\",\"temperature\":NaN}"};
  for (const std::string& body : bodies) {
    const TestReply reply = post(kCompletions, body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 100);
    EXPECT_EQ(error_field(reply, "type"), "invalid_request_error");
  }
  EXPECT_NE(error_field(post(kCompletions, "{\"prompt\":" + deep), "message").find("64 levels"), std::string::npos);
  EXPECT_EQ(completed_text(R"({"prompt":"say:still here"})"), "still here");
}

TEST_F(GenerationErrorsTest, ContextOverflowHasBothNumbers) {
  start({.context_tokens = 32});
  const TestReply reply = post(kCompletions, R"({"prompt":")" + std::string(500, 'q') + "\"}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(error_field(reply, "type"), "exceed_context_size_error");
  const json::value body = parsed(reply.body);
  EXPECT_EQ(body.at_pointer("/error/n_ctx").as_int64(), 32);
  EXPECT_GT(body.at_pointer("/error/n_prompt_tokens").as_int64(), 400);
}

TEST_F(GenerationErrorsTest, FullQueueAndItsNeighbours) {
  start({.requests_max = 3});
  model_->hold(true);
  TestClient running(server_->port());
  running.send(post_request(kCompletions, R"({"prompt":"say:kept","n":2})"));
  ASSERT_TRUE(becomes_true([&] { return model_->running_count() == 2; }));
  const TestReply reply = post(kCompletions, R"({"prompt":"x","n":2})");  // room for one only: all or nothing
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_EQ(error_field(reply, "code"), "queue_full");
  model_->hold(false);
  EXPECT_EQ(text_of(parsed(running.receive().body).at_pointer("/choices/1/text")), "kept");
  EXPECT_TRUE(becomes_true([&] { return model_->running_count() == 0; }));
}

TEST_F(GenerationErrorsTest, EngineFailure) {
  start({.fails = true});
  const TestReply reply = post(kCompletions, R"({"prompt":"x"})");
  EXPECT_EQ(reply.status, 500);
  EXPECT_NE(error_field(reply, "message").find("not-a-number"), std::string::npos);
  const TestReply streamed = post(kCompletions, R"({"prompt":"x","stream":true})");
  EXPECT_EQ(streamed.status, 200);
  const auto events = events_of(streamed.body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(parsed(events[0]).as_object().contains("error"));
}

TEST_F(GenerationErrorsTest, TemplateErrorIsTheClients) {
  start();
  const TestReply reply = post(kChat, R"({"messages":[{"role":"alien","content":"x"}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(error_field(reply, "message"), "Unknown role: alien");
  EXPECT_EQ(error_field(reply, "code"), "template_error");
}

}  // namespace
}  // namespace takt::server
