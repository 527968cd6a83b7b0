// Generation endpoints over real sockets: replies, parameters, errors, streams.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <limits>

#include "server/testing/server_fixture.h"

namespace takt::server {
namespace {

namespace json = boost::json;

class GenerationTest : public ServerTest {
 protected:
  json::value complete(const std::string& body, const char* path = "/v1/completions") {
    const TestReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(reply.is_complete);
    return parsed(reply.body);
  }
  std::string completed_text(const std::string& body) { return text_of(complete(body).at_pointer("/choices/0/text")); }

  // Streams, checks the framing, and returns the parsed chunks without [DONE].
  std::vector<json::value> stream(const char* path, const std::string& body) {
    const TestReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(reply.is_complete);
    EXPECT_EQ(reply.header("Content-Type"), "text/event-stream; charset=utf-8");
    std::vector<std::string> events = events_of(reply.body);
    std::vector<json::value> chunks;
    if (events.empty() || events.back() != "[DONE]") {
      ADD_FAILURE() << "no [DONE] at the end of: " << reply.body;
      return chunks;
    }
    events.pop_back();
    for (const std::string& event : events) chunks.push_back(parsed(event));
    return chunks;
  }
  static std::string joined(const std::vector<json::value>& chunks, int64_t choice = 0) {
    std::string out;
    for (const json::value& chunk : chunks) {
      for (const json::value& entry : chunk.at("choices").as_array()) {
        if (entry.at("index").to_number<int64_t>() != choice) continue;
        const json::object& object = entry.as_object();
        const json::value* text = object.contains("delta") ? object.at("delta").as_object().if_contains("content")
                                                           : object.if_contains("text");
        if (text != nullptr) out += text_of(*text);
      }
    }
    return out;
  }
};

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

TEST_F(GenerationTest, CompletionReply) {
  start();
  const json::value reply = complete(R"({"model":"any","prompt":"say:Hello"})");
  EXPECT_EQ(text_of(reply.at("object")), "text_completion");
  EXPECT_EQ(text_of(reply.at("model")), "any");
  EXPECT_EQ(text_of(reply.at("system_fingerprint")), "fake-1");
  EXPECT_EQ(text_of(reply.at("id")).rfind("cmpl-", 0), 0u);
  EXPECT_EQ(text_of(reply.at_pointer("/choices/0/text")), "Hello");
  EXPECT_EQ(text_of(reply.at_pointer("/choices/0/finish_reason")), "stop");
  EXPECT_TRUE(reply.at_pointer("/choices/0/logprobs").is_null());
  const int64_t prompt_tokens = reply.at_pointer("/usage/prompt_tokens").as_int64();
  EXPECT_GT(prompt_tokens, 1);
  EXPECT_EQ(reply.at_pointer("/usage/completion_tokens").as_int64(), 6);  // with the end token
  EXPECT_EQ(reply.at_pointer("/usage/total_tokens").as_int64(), prompt_tokens + 6);
  EXPECT_EQ(reply.at_pointer("/usage/prompt_tokens_details/cached_tokens").as_int64(), 0);
  const json::object& timings = reply.at("timings").as_object();
  EXPECT_EQ(timings.at("prompt_n").as_int64(), prompt_tokens);
  EXPECT_EQ(timings.at("predicted_n").as_int64(), 6);
  EXPECT_EQ(timings.at("cache_n").as_int64(), 0);
  for (const char* field : {"queue_ms", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_ms",
                            "predicted_per_token_ms", "predicted_per_second"}) {
    EXPECT_TRUE(timings.at(field).is_number()) << field;
  }
}

TEST_F(GenerationTest, ChatReply) {
  start();
  const json::value reply =
      complete(R"({"messages":[{"role":"system","content":"x"},{"role":"user","content":"say:Hi \u00e9 😀"}]})", kChat);
  EXPECT_EQ(text_of(reply.at("object")), "chat.completion");
  EXPECT_EQ(text_of(reply.at("model")), "fake");
  EXPECT_EQ(text_of(reply.at("id")).rfind("chatcmpl-", 0), 0u);
  EXPECT_EQ(text_of(reply.at_pointer("/choices/0/message/role")), "assistant");
  EXPECT_EQ(text_of(reply.at_pointer("/choices/0/message/content")), "Hi é 😀");
  EXPECT_EQ(text_of(complete(R"({"messages":[{"role":"user","content":"say:x"}]})", "/chat/completions")
                        .at_pointer("/choices/0/message/content")),
            "x");
}

TEST_F(GenerationTest, LengthsAreExact) {
  start();
  for (const char* field : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    for (int64_t count : {0, 1, 2, 7}) {
      const json::value reply =
          complete(std::string(R"({"prompt":"x",")") + field + "\":" + std::to_string(count) + "}");
      EXPECT_EQ(text_of(reply.at_pointer("/choices/0/text")).size(), static_cast<size_t>(count)) << field;
      EXPECT_EQ(text_of(reply.at_pointer("/choices/0/finish_reason")), "length");
      EXPECT_EQ(reply.at_pointer("/usage/completion_tokens").as_int64(), count);
      const double rate = reply.at_pointer("/timings/predicted_per_second").to_number<double>();
      EXPECT_EQ(rate > 0, count >= 2) << rate;
    }
  }
  // Without a limit, or one beyond it, the context is the limit.
  for (const char* limit : {"", R"(,"max_tokens":-1)", R"(,"max_tokens":null)", R"(,"max_tokens":2147483648)",
                            R"(,"max_tokens":9007199254740992)"}) {
    const json::value reply = complete(std::string(R"({"prompt":"x")") + limit + "}");
    EXPECT_EQ(reply.at_pointer("/usage/total_tokens").as_int64(), 4096) << limit;
    EXPECT_EQ(text_of(reply.at_pointer("/choices/0/finish_reason")), "length");
  }
}

TEST_F(GenerationTest, StopStrings) {
  start();
  EXPECT_EQ(completed_text(R"({"prompt":"say:one two three","stop":" t"})"), "one");
  EXPECT_EQ(completed_text(R"({"prompt":"say:one two three","stop":["","three","two"]})"), "one ");
  EXPECT_EQ(completed_text(R"({"prompt":"say:one two three","stop":[]})"), "one two three");
  EXPECT_EQ(completed_text(R"({"prompt":"say:one","ignore_eos":true,"max_tokens":9})").size(), 8u);
  // The fake model does as it is told; a real one must not choose an end token then.
  ASSERT_FALSE(model_->last_sampling().logit_bias.empty());
  EXPECT_EQ(model_->last_sampling().logit_bias.front().second, -std::numeric_limits<float>::infinity());
  complete(R"({"prompt":"say:one","max_tokens":9})");
  EXPECT_TRUE(model_->last_sampling().logit_bias.empty());
}

TEST_F(GenerationTest, SeedsDecideAndAreReported) {
  start();
  const auto run = [&](const std::string& seed) {
    const json::value reply =
        complete(R"({"prompt":"x","max_tokens":12)" + (seed.empty() ? "" : ",\"seed\":" + seed) + "}");
    return std::pair(text_of(reply.at_pointer("/choices/0/text")), json::serialize(reply.at("seed")));
  };
  EXPECT_EQ(run("42"), run("42"));
  EXPECT_NE(run("42").first, run("43").first);
  EXPECT_EQ(run("42").second, "42");
  EXPECT_EQ(run("-7").second, "-7");
  EXPECT_EQ(run("18446744073709551615").second, "18446744073709551615");
  EXPECT_EQ(run("1e30").first, run("1e30").first);
  const auto random = run("");
  EXPECT_NE(run("").first, random.first);
  EXPECT_EQ(run(random.second).first, random.first);
  EXPECT_NE(run("-1").second, "-1");
}

TEST_F(GenerationTest, CachePromptReachesTheScheduler) {
  start();
  completed_text(R"({"prompt":"say:a"})");
  EXPECT_TRUE(model_->last_request().reads_prefix_cache);
  completed_text(R"({"prompt":"say:a","cache_prompt":false})");
  EXPECT_FALSE(model_->last_request().reads_prefix_cache);
  EXPECT_EQ(post(kCompletions, R"({"prompt":"a","cache_prompt":"no"})").status, 400);
}

TEST_F(GenerationTest, SeveralChoicesAndPrompts) {
  start();
  const json::value reply = complete(R"({"prompt":["x","say:two",[97,98]],"n":2,"max_tokens":5,"seed":1})");
  const json::array& choices = reply.at("choices").as_array();
  ASSERT_EQ(choices.size(), 6u);
  for (size_t i = 0; i < choices.size(); ++i) EXPECT_EQ(choices[i].at("index").as_int64(), static_cast<int64_t>(i));
  EXPECT_NE(text_of(choices[0].at("text")), text_of(choices[1].at("text")));
  EXPECT_EQ(text_of(choices[2].at("text")), "two");
  // A prompt's answer in a list is its answer alone.
  const json::value alone = complete(R"({"prompt":[97,98],"n":2,"max_tokens":5,"seed":1})");
  EXPECT_EQ(choices[4].at("text"), alone.at_pointer("/choices/0/text"));
  EXPECT_EQ(choices[5].at("text"), alone.at_pointer("/choices/1/text"));
  EXPECT_EQ(reply.at_pointer("/usage/completion_tokens").as_int64(), 5 * 4 + 4 * 2);
  EXPECT_TRUE(choices[0].as_object().contains("timings"));
}

TEST_F(GenerationTest, SamplingReachesTheModel) {
  start();
  complete(R"({"prompt":"x","max_tokens":1,"temperature":0.5,"top_k":7,"top_p":0.25,"min_p":0.125,"repeat_penalty":1.5,
    "repeat_last_n":-1,"frequency_penalty":-1.5,"presence_penalty":2,"logit_bias":{"5":-100,"6":false},
    "service_class":"background","unknown_field":[1,{}],"user":"me","stop":null})");
  const contract::Sampling sampling = model_->last_sampling();
  EXPECT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.top_k, 7u);
  EXPECT_EQ(sampling.top_p, 0.25f);
  EXPECT_EQ(sampling.min_p, 0.125f);
  EXPECT_EQ(sampling.repeat_penalty, 1.5f);
  EXPECT_EQ(sampling.repeat_last_n, 4096u);
  EXPECT_EQ(sampling.frequency_penalty, -1.5f);
  EXPECT_EQ(sampling.presence_penalty, 2.0f);
  ASSERT_EQ(sampling.logit_bias.size(), 2u);
  EXPECT_EQ(sampling.logit_bias[0], (std::pair<contract::TokenId, float>(5, -100.0f)));
  EXPECT_EQ(sampling.logit_bias[1].second, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(model_->last_request().service_class, contract::ServiceClass::background);

  complete(
      R"({"prompt":"x","max_tokens":1,"logit_bias":[[7,1],[8,false]],"service_tier":"flex","top_k":-1,"top_p":0})");
  EXPECT_EQ(model_->last_sampling().logit_bias.size(), 2u);
  EXPECT_EQ(model_->last_sampling().temperature, 0.8f);  // llama-server's defaults
  EXPECT_EQ(model_->last_sampling().top_k, 0u);
  EXPECT_GT(model_->last_sampling().top_p, 0.0f);
  EXPECT_EQ(model_->last_request().service_class, contract::ServiceClass::batch);
}

TEST_F(GenerationTest, CompletionLogprobs) {
  start();
  const json::value reply = complete(R"({"prompt":"say:aé","logprobs":2})");
  const json::object& logprobs = reply.at_pointer("/choices/0/logprobs").as_object();
  ASSERT_EQ(logprobs.at("tokens").as_array().size(), 4u);  // a, two bytes, the end token
  EXPECT_EQ(text_of(logprobs.at("tokens").at(0)), "a");
  EXPECT_EQ(text_of(logprobs.at("tokens").at(1)), "bytes:\\xc3");
  EXPECT_EQ(logprobs.at("token_logprobs").at(1).to_number<double>(), -1.25);
  EXPECT_EQ(logprobs.at("top_logprobs").at(0).as_object().size(), 2u);
  EXPECT_EQ(logprobs.at("top_logprobs").at(0).at("a").to_number<double>(), -1.0);
  EXPECT_EQ(json::serialize(logprobs.at("text_offset")), "[0,1,2,2]");
  EXPECT_EQ(complete(R"({"prompt":"say:a","logprobs":0})")
                .at_pointer("/choices/0/logprobs/top_logprobs/0")
                .as_object()
                .size(),
            1u);
}

TEST_F(GenerationTest, ChatLogprobs) {
  start();
  const json::value reply =
      complete(R"({"messages":[{"role":"user","content":"say:é"}],"logprobs":true,"top_logprobs":3})", kChat);
  const json::array& content = reply.at_pointer("/choices/0/logprobs/content").as_array();
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(text_of(content[0].at("token")), "\xEF\xBF\xBD");
  EXPECT_EQ(json::serialize(content[0].at("bytes")), "[195]");
  EXPECT_EQ(json::serialize(content[1].at("bytes")), "[169]");
  EXPECT_EQ(content[0].at("logprob").to_number<double>(), -1.0);
  EXPECT_EQ(content[0].at("top_logprobs").as_array().size(), 3u);
  EXPECT_TRUE(complete(R"({"messages":[{"role":"user","content":"say:e"}],"logprobs":true})", kChat)
                  .at_pointer("/choices/0/logprobs/content/0/top_logprobs")
                  .as_array()
                  .empty());
}

TEST_F(GenerationTest, EchoWithPromptLogprobs) {
  start();
  const json::value reply = complete(R"({"prompt":"say:ab","echo":true,"logprobs":1,"max_tokens":1})");
  EXPECT_EQ(text_of(reply.at_pointer("/choices/0/text")), "say:aba");
  const json::object& logprobs = reply.at_pointer("/choices/0/logprobs").as_object();
  const size_t prompt_tokens = static_cast<size_t>(reply.at_pointer("/usage/prompt_tokens").as_int64());
  ASSERT_EQ(logprobs.at("tokens").as_array().size(), prompt_tokens + 1);
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("token_logprobs").at(1).to_number<double>(), -1.0);
  EXPECT_EQ(joined(stream(kCompletions, R"({"prompt":"say:ab","echo":true,"logprobs":1,"stream":true})")), "say:abab");
  EXPECT_EQ(completed_text(R"({"prompt":[97,98,99],"echo":true,"max_tokens":0})"), "abc");
}

TEST_F(GenerationTest, StreamShape) {
  start();
  const auto chunks = stream(kChat, R"({"messages":[{"role":"user","content":"say:é😀!"}],"stream":true,"seed":5,
    "stream_options":{"include_usage":true}})");
  ASSERT_GE(chunks.size(), 5u);
  EXPECT_EQ(text_of(chunks[0].at("object")), "chat.completion.chunk");
  EXPECT_EQ(text_of(chunks[0].at_pointer("/choices/0/delta/role")), "assistant");
  EXPECT_EQ(joined(chunks), "é😀!");
  for (size_t i = 0; i + 2 < chunks.size(); ++i) {
    EXPECT_TRUE(chunks[i].at_pointer("/choices/0/finish_reason").is_null());
    EXPECT_TRUE(chunks[i].at("usage").is_null());
    EXPECT_EQ(chunks[i].at("id"), chunks[0].at("id"));
  }
  const json::value& last = chunks[chunks.size() - 2];
  EXPECT_EQ(text_of(last.at_pointer("/choices/0/finish_reason")), "stop");
  EXPECT_EQ(last.at("seed").as_int64(), 5);
  EXPECT_EQ(last.at_pointer("/timings/predicted_n").as_int64(), 8);
  EXPECT_TRUE(chunks.back().at("choices").as_array().empty());
  EXPECT_EQ(chunks.back().at_pointer("/usage/completion_tokens").as_int64(), 8);
}

TEST_F(GenerationTest, StreamEqualsWholeReply) {
  start();
  const std::vector<std::string> bodies = {
      R"("prompt":"say:plain")",
      R"("prompt":"say:é😀漢字 and more","stop":["and"])",
      R"("prompt":"say:aaaab","stop":"aab")",
      R"("prompt":"say:😀","max_tokens":3)",  // cut inside a character: one U+FFFD
      R"("prompt":"x","max_tokens":40,"seed":3,"n":3)",
      R"("prompt":"x","max_tokens":0)",
      R"("prompt":"say:stop never comes","stop":["never goes"],"logprobs":1)",
  };
  for (const std::string& body : bodies) {
    const json::value whole = complete("{" + body + "}");
    const auto chunks = stream(kCompletions, "{" + body + R"(,"stream":true})");
    for (const json::value& choice : whole.at("choices").as_array()) {
      EXPECT_EQ(joined(chunks, choice.at("index").as_int64()), text_of(choice.at("text"))) << body;
    }
    EXPECT_EQ(whole.at_pointer("/choices/0/finish_reason"), chunks.back().at_pointer("/choices/0/finish_reason"))
        << body;
  }
  EXPECT_EQ(completed_text(R"({"prompt":"say:😀","max_tokens":3})"), "\xEF\xBF\xBD");
}

TEST_F(GenerationTest, ToolsAndTemplateVariablesReachTheTemplate) {
  start();
  const TestReply reply = post("/apply-template", R"({"messages":[
    {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}],
    "tools":[{"type":"function"}],"chat_template_kwargs":{"style":"short","tools":3},"add_generation_prompt":false})");
  EXPECT_EQ(text_of(parsed(reply.body).at("prompt")),
            "tools: [{\"type\":\"function\"}]\nstyle: \"short\"\nuser: a\nb\nassistant: \n"
            "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}}]\n");
  const TestReply none =
      post("/apply-template", R"({"messages":[{"role":"user","content":"a"}],"tools":[{"a":1}],"tool_choice":"none"})");
  EXPECT_EQ(text_of(parsed(none.body).at("prompt")), "user: a\nassistant:");
}

}  // namespace
}  // namespace takt::server
