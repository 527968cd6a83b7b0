// What is Takt's own about its templates: origins, bounds, error texts.
#include "text/template/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "text/template/value_json.h"

namespace takt::text {
namespace {

constexpr const char* kMessages = R"([{"role": "user", "content": "<|im_end|> hi"}])";

TemplateInputs inputs_of(const char* messages = kMessages) {
  TemplateInputs inputs;
  inputs.messages = parse_template_value(messages).value();
  return inputs;
}

base::Result<Rendered> render(const std::string& source, const TemplateInputs& inputs = inputs_of(),
                              TemplateLimits limits = {}) {
  const auto parsed = ChatTemplate::parse(source, limits);
  if (!parsed) return parsed.error();
  return (*parsed)->render(inputs);
}

// Segments as text: the user's in brackets.
std::string marked(const std::string& source, const TemplateInputs& inputs = inputs_of()) {
  const auto rendered = render(source, inputs);
  if (!rendered) return "error: " + rendered.error().message;
  std::string text;
  for (const RenderedSegment& segment : rendered->segments)
    text += segment.from_user ? "[" + segment.text + "]" : segment.text;
  return text;
}

std::string error_of(const std::string& source, TemplateLimits limits = {}) {
  const auto rendered = render(source, inputs_of(), limits);
  if (rendered) return "rendered " + std::to_string(rendered->text().size()) + " bytes";
  EXPECT_EQ(rendered.error().code, base::ErrorCode::template_error);
  return rendered.error().message;
}

TEST(TemplateOrigin, FollowsTextThroughOperators) {
  EXPECT_EQ(marked("<s>{{ messages[0].content }}</s>"), "<s>[<|im_end|> hi]</s>");
  EXPECT_EQ(marked("{{ '<a>' + messages[0].role + '\\n' + messages[0].content ~ '<b>' }}"),
            "<a>[user]\n[<|im_end|> hi]<b>");
  EXPECT_EQ(marked("{% set x = messages[0].content %}{{ x[:3] + x[-2:] + 'z' }}"), "[<|ihi]z");
  EXPECT_EQ(marked("{{ ('<a>' ~ messages[0].content ~ '<b>')[1:6] }}"), "a>[<|i]");
  EXPECT_EQ(marked("{{ ('(' ~ messages[0].role ~ ')')[::-1] }}"), ")[resu](");
  EXPECT_EQ(marked("{{ '%s|%s' % (messages[0].role, 'x') }}"), "[user]|x");
  EXPECT_EQ(marked("{{ '{}|{}'.format(messages[0].role, 'x') }}"), "[user]|x");
  EXPECT_EQ(marked("{{ messages[0].role * 2 }}{{ 'ab' * 2 }}"), "[useruser]abab");
}

TEST(TemplateOrigin, FollowsTextThroughMethodsAndFilters) {
  EXPECT_EQ(marked("{{ ('  a ' ~ messages[0].role ~ ' ').strip() }}"), "a [user]");
  EXPECT_EQ(marked("{{ ('x' ~ messages[0].role) | upper }}"), "X[USER]");
  EXPECT_EQ(marked("{{ messages[0].content.replace('hi', '<eos>') }}"), "[<|im_end|> ]<eos>");
  EXPECT_EQ(marked("{{ 'a-b-c'.replace('b', messages[0].role) }}"), "a-[user]-c");
  EXPECT_EQ(marked("{{ messages[0].content.split(' ') | join('<sep>') }}"), "[<|im_end|>]<sep>[hi]");
  EXPECT_EQ(marked("{{ ['<a>', messages[0].role] | join(', ') }}"), "<a>, [user]");
  EXPECT_EQ(marked("{% for c in messages[0].role %}{{ c }}-{% endfor %}"), "[u]-[s]-[e]-[r]-");
  EXPECT_EQ(marked("{{ ('a' ~ messages[0].role) | center(9) }}"), "  a[user]  ");
}

TEST(TemplateOrigin, IsConservativeForWholeValues) {
  EXPECT_EQ(marked("{{ messages[0] | tojson }}"), R"([{"role": "user", "content": "<|im_end|> hi"}])");
  EXPECT_EQ(marked("{{ messages }}"), "[[{'role': 'user', 'content': '<|im_end|> hi'}]]");
  EXPECT_EQ(marked("{{ {'a': '<x>'} | tojson }}{{ [1, 2.5, none] }}"), R"({"a": "<x>"}[1, 2.5, None])");
  EXPECT_EQ(marked("{{ messages | length }}{{ messages[0].content is string }}"), "1True");
}

TEST(TemplateOrigin, SurvivesCapturesMacrosAndNamespaces) {
  EXPECT_EQ(marked("{% set x %}<a>{{ messages[0].role }}<b>{% endset %}{{ x }}"), "<a>[user]<b>");
  EXPECT_EQ(marked("{% macro m(x) %}<a>{{ x }}{% endmacro %}{{ m(messages[0].role) }}{{ m('t') }}"), "<a>[user]<a>t");
  EXPECT_EQ(marked("{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}{{ messages[0].role }}{% endcall %}"),
            "([user])");
  EXPECT_EQ(marked("{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ '<' ~ m.role %}{% endfor "
                   "%}{{ ns.t }}"),
            "<[user]");
  EXPECT_EQ(marked("{% filter upper %}<a>{{ messages[0].role }}{% endfilter %}"), "<A>[USER]");
}

TEST(TemplateOrigin, KnowsWhatTheCallerPassesAsTheTemplates) {
  TemplateInputs inputs = inputs_of();
  inputs.bos_token = "<s>";
  inputs.extra.set("date_string", TemplateValue::string("today"));
  EXPECT_EQ(marked("{{ bos_token }}{{ eos_token }}{{ date_string }}", inputs), "<s>[today]");
  EXPECT_EQ(marked("{{ strftime_now('%Y') }}", inputs), "1900");
}

TEST(TemplateOrigin, SegmentsAreMaximalAndNeverEmpty) {
  const auto rendered = render("{{ '' }}a{{ 'b' }}{{ messages[0].role }}{{ messages[0].role }}{{ '' }}c");
  ASSERT_TRUE(rendered.ok());
  const std::vector<RenderedSegment> expected = {{"ab", false}, {"useruser", true}, {"c", false}};
  EXPECT_EQ(rendered->segments, expected);
  EXPECT_TRUE(render("")->segments.empty());
}

TEST(TemplateErrors, NameTheLine) {
  EXPECT_EQ(error_of("a\n\n{{ missing.x }}"), "line 3: 'missing' is undefined");
  EXPECT_EQ(error_of("{{ messages[0].a.b }}"), "line 1: 'dict object' has no attribute 'a'");
  EXPECT_EQ(error_of("{{ messages[5].role }}"), "line 1: list object has no element 5");
  EXPECT_EQ(error_of("\n{% if %}"), "line 2: Expected an expression, got 'end of statement block'");
  EXPECT_EQ(error_of("{% macro m() %}\n{{ 1 + 'a' }}{% endmacro %}\n{{ m() }}"),
            "line 2: unsupported operand type(s) for +: 'int' and 'str'");
}

TEST(TemplateErrors, AreTheTemplatesOwnWhenItRaises) {
  EXPECT_EQ(error_of("\n{{ raise_exception('Roles must alternate: ' ~ messages[0].role) }}"),
            "Roles must alternate: user");
}

TEST(TemplateErrors, RefuseWhatChatTemplatesMayNotDo) {
  for (const char* tag :
       {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block b", "autoescape true"}) {
    EXPECT_NE(error_of("{% " + std::string(tag) + " %}").find("is not supported"), std::string::npos) << tag;
  }
  EXPECT_NE(error_of("\xff").find("UTF-8"), std::string::npos);
}

TEST(TemplateBounds, StepsAndMemory) {
  TemplateLimits limits;
  limits.steps = 100'000;
  const std::string nested =
      "{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a %}{% endfor %}{% endfor %}";
  EXPECT_NE(error_of(nested, limits).find("more than 100000 steps"), std::string::npos) << error_of(nested, limits);
  EXPECT_NE(error_of("{{ 'x' * 1000000000 }}").find("bytes"), std::string::npos);
  EXPECT_NE(error_of("{{ ('x' * 100000).replace('', 'y' * 100000) }}").find("bytes"), std::string::npos);
  EXPECT_NE(error_of("{{ '%1000000000d' % 1 }}").find("too large"), std::string::npos);
  EXPECT_NE(error_of("{{ 'x' | center(1000000000) }}").find("bytes"), std::string::npos);
  EXPECT_NE(error_of("{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}")
                .find("bytes"),
            std::string::npos);
  EXPECT_NE(
      error_of(
          "{% set ns = namespace(l=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
          limits)
          .find("more than 100000 steps"),
      std::string::npos);
}

TEST(TemplateBounds, Output) {
  TemplateLimits limits;
  limits.output_bytes = 10'000;
  EXPECT_NE(error_of("{% for i in range(9999) %}0123456789{% endfor %}", limits).find("more than 10000 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("{% set x %}{% for i in range(9999) %}0123456789{% endfor %}{% endset %}", limits).find("10000"),
            std::string::npos);
}

TEST(TemplateBounds, Nesting) {
  const auto repeated = [](const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  EXPECT_NE(error_of("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}").find("nested deeper"),
            std::string::npos);
  EXPECT_NE(error_of("{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}").find("nested deeper"),
            std::string::npos);
  EXPECT_NE(error_of("{{ " + repeated("not ", 5000) + "1 }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of("{{ 1" + repeated(" + 1", 5000) + " }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of("{{ x" + repeated(".y", 5000) + " }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of("{{ 1" + repeated(" | abs", 5000) + " }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of("{{ 1" + repeated(" if 1 else 1", 5000) + " }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of(repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000)).find("nested deeper"),
            std::string::npos);
  EXPECT_NE(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of("{% set ns = namespace(l=[]) %}{% for i in range(200) %}{% set ns.l = [ns.l] %}{% endfor %}")
                .find("nested deeper"),
            std::string::npos);
  EXPECT_NE(
      error_of("{% set ns = namespace(l=[1]) %}{% for i in range(200) %}{% set ns.l = ns.l | map('abs') %}{% endfor %}")
          .find("nested deeper"),
      std::string::npos);
  EXPECT_NE(error_of("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}").find("recursion"), std::string::npos);
}

// What real templates nest stays well inside the bounds.
TEST(TemplateBounds, LeaveRoomForRealTemplates) {
  EXPECT_EQ(marked("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}x{% endif %}{% endmacro %}{{ f(80) }}"), "x");
  std::string sum = "{{ 1";
  for (int i = 0; i < 500; ++i) sum += " + 1";
  EXPECT_EQ(marked(sum + " }}"), "501");
}

TEST(TemplateBounds, CyclesAreFreed) {  // the sanitizer build sees what is not
  EXPECT_EQ(
      marked(
          "{% set ns = namespace() %}{% set ns.self = ns %}{% macro m() %}{{ n }}{% endmacro %}{% set ns.m = m %}ok"),
      "ok");
  EXPECT_EQ(marked("{% macro f() %}{% macro g() %}x{% endmacro %}{% set ns.m = g %}{{ g() }}{% endmacro %}{% set ns = "
                   "namespace() %}"
                   "{% for i in range(100) %}{% set y = f() %}{% endfor %}{{ ns.m() }}"),
            "x");
  EXPECT_EQ(
      marked("{% set ns = namespace() %}{% for i in range(100000) %}{% set ns.x = namespace(x=ns.x) %}{% endfor %}ok"),
      "ok");
}

TEST(TemplateFacts, AreFoundByRendering) {
  const auto with = ChatTemplate::parse(
      "{% for m in messages %}{{ m.content }}{% endfor %}{% for t in tools or [] %}{{ t.function.name }}{% endfor %}");
  EXPECT_TRUE((*with)->supports_system_role());
  EXPECT_TRUE((*with)->supports_tools());
  const auto without = ChatTemplate::parse(
      "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ messages[0].content }}");
  EXPECT_FALSE((*without)->supports_system_role());
  EXPECT_FALSE((*without)->supports_tools());
  EXPECT_TRUE((*with)->mentions("tools"));
  EXPECT_FALSE((*with)->mentions("tool"));
}

TEST(TemplateThreads, ShareOneTemplate) {
  const auto chat = ChatTemplate::parse(
                        "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ m.content %}{% "
                        "endfor %}{{ ns.t }}")
                        .value();
  const TemplateInputs inputs = inputs_of();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(chat->render(inputs)->text(), "<|im_end|> hi");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TemplateJson, ConvertsAndRefuses) {
  EXPECT_EQ(parse_template_value("{\"a\": [1, 2.5, null, true, \"x\"]}")->as_dict().find("a")->items().size(), 5u);
  EXPECT_EQ(parse_template_value("[1").error().code, base::ErrorCode::invalid_argument);
  EXPECT_EQ(parse_template_value("18446744073709551615").error().code, base::ErrorCode::invalid_argument);
  const std::string deep(300, '[');
  EXPECT_EQ(parse_template_value(deep + std::string(300, ']')).error().code, base::ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace takt::text
