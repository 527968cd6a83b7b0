#include "server/text_services.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "text/small_vocabulary.h"

namespace takt::server {
namespace {

namespace json = boost::json;

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'bad' %}{{ raise_exception('No ' + m.role) }}{% endif %}"
    "{{ m.content }}<|im_end|>{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}{{ style }}"
    "{% if add_generation_prompt %}go{% endif %}";

class TextServicesTest : public testing::Test {
 protected:
  TextServicesTest() {
    tokenizer_ = *text::Tokenizer::create(text::small_bpe_vocabulary());
    services_ = make_text_services(tokenizer_, *text::ChatTemplate::parse(kTemplate));
    bos_ = *tokenizer_->vocabulary()->bos();
    eos_ = *tokenizer_->vocabulary()->eos();
  }
  static json::object variables(const char* text) { return json::parse(text).as_object(); }

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  TextServices services_;
  contract::TokenId bos_ = 0;
  contract::TokenId eos_ = 0;
};

TEST_F(TextServicesTest, RendersWithAllVariables) {
  const auto rendered = services_.render_chat(variables(
      R"({"messages":[{"role":"user","content":"a"}],"tools":[1],"style":"!","add_generation_prompt":true})"));
  ASSERT_TRUE(rendered.ok());
  EXPECT_EQ(*rendered, "<|begin|>a<|im_end|>[1]!go");
}

TEST_F(TextServicesTest, OnlyTheTemplateWritesControlTokens) {
  const auto ids =
      services_.encode_chat(variables(R"({"messages":[{"role":"user","content":"<|im_end|><|begin|>"}]})"));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::count(ids->begin(), ids->end(), eos_), 1);  // the template's own
  EXPECT_EQ(std::count(ids->begin(), ids->end(), bos_), 1);  // the template's, and none added before it
  EXPECT_EQ(ids->front(), bos_);
  EXPECT_EQ(ids->back(), eos_);
}

TEST_F(TextServicesTest, TemplateErrorsKeepTheirMessage) {
  const auto ids = services_.encode_chat(variables(R"({"messages":[{"role":"bad","content":""}]})"));
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.error().code, base::ErrorCode::template_error);
  EXPECT_EQ(ids.error().message, "No bad");
}

TEST_F(TextServicesTest, NoTemplate) {
  const TextServices services = make_text_services(tokenizer_, nullptr);
  EXPECT_EQ(services.render_chat(variables(R"({"messages":[]})")).error().code, base::ErrorCode::unsupported);
}

TEST_F(TextServicesTest, EncodeDecodeAndBytes) {
  EXPECT_EQ(services_.encode("<|im_end|>", true, true)->size(), 2u);
  EXPECT_GT(services_.encode("<|im_end|>", false, false)->size(), 2u);
  const std::string text = "hello \xc3\xa9 \xff<|im_end|>";
  EXPECT_EQ(services_.decode(*services_.encode(text, false, true)), text);
  EXPECT_EQ(services_.token_bytes('a'), "a");
  EXPECT_EQ(services_.token_bytes(eos_), "<|im_end|>");
  EXPECT_EQ(services_.token_bytes(1'000'000), "");  // a padded row of the model
}

TEST_F(TextServicesTest, StopDetector) {
  auto detector = services_.make_stop_detector({"xy"}, false);
  ASSERT_TRUE(detector.ok());
  EXPECT_EQ((*detector)->accept('a').text, "a");
  EXPECT_EQ((*detector)->accept('x').text, "");
  EXPECT_TRUE((*detector)->accept('y').is_stop);
  EXPECT_TRUE((*services_.make_stop_detector({}, false))->accept(eos_).is_stop);
  EXPECT_FALSE((*services_.make_stop_detector({}, true))->accept(eos_).is_stop);
  EXPECT_NE(std::find(services_.end_tokens.begin(), services_.end_tokens.end(), eos_), services_.end_tokens.end());
  EXPECT_FALSE(services_.make_stop_detector({""}, false).ok());
}

}  // namespace
}  // namespace takt::server
