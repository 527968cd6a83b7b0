// Takt's templates against what Python's jinja2 rendered: small constructs for everyone, published templates where
// ../shared is present.
#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <filesystem>
#include <string>

#include "text/template/chat_template.h"
#include "text/template/value_json.h"
#include "text/testing/test_files.h"

namespace takt::text {
namespace {

std::filesystem::path fixture(const char* name) {
  return std::filesystem::path(TAKT_SOURCE_DIR) / "tests" / "template" / name;
}

boost::json::value read_json(const std::filesystem::path& path) {
  boost::json::parse_options options;
  options.max_depth = 100;
  return boost::json::parse(read_bytes(path), {}, options);
}

// The moment that tests/template/reference.py renders at: Friday, 26 July 2024, 9:05:03.
std::tm reference_time() {
  std::tm time = {};
  time.tm_year = 124, time.tm_mon = 6, time.tm_mday = 26, time.tm_wday = 5, time.tm_yday = 207;
  time.tm_hour = 9, time.tm_min = 5, time.tm_sec = 3;
  return time;
}

base::Result<std::string> render(const std::string& source, const TemplateInputs& inputs) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) return parsed.error();
  const auto rendered = (*parsed)->render(inputs);
  if (!rendered) return rendered.error();
  return rendered->text();
}

TEST(TemplateFixtures, RendersWhatJinjaRenders) {
  const boost::json::value fixtures = read_json(fixture("fixtures.json"));
  TemplateInputs inputs;
  inputs.now = reference_time();
  inputs.extra = to_template_value(fixtures.at("data")).value().as_dict();
  size_t case_count = 0;
  for (const boost::json::value& item : fixtures.at("cases").as_array()) {
    const boost::json::object& expected = item.as_object();
    const std::string source(expected.at("template").as_string());
    SCOPED_TRACE(std::string(expected.at("name").as_string()) + ": " + source);
    const auto actual = render(source, inputs);
    ++case_count;
    if (expected.contains("text")) {
      ASSERT_TRUE(actual.ok()) << actual.error().message;
      EXPECT_EQ(*actual, std::string(expected.at("text").as_string()));
      continue;
    }
    ASSERT_FALSE(actual.ok()) << "rendered \"" << *actual
                              << "\" where jinja2 fails: " << expected.at("error").as_string();
    EXPECT_EQ(actual.error().code, base::ErrorCode::template_error);
    if (expected.contains("raised"))
      EXPECT_EQ(actual.error().message, std::string(expected.at("error").as_string()));
    else
      EXPECT_EQ(actual.error().message.substr(0, 5), "line ") << actual.error().message;
  }
  EXPECT_GT(case_count, 300u);
}

// CRC-32 as in zlib, reflected polynomial 0xEDB88320.
class Checksum {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      crc_ = kTable[(crc_ ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc_ >> 8;
    }
    size_ += bytes.size();
  }
  uint32_t crc() const { return ~crc_; }
  size_t size() const { return size_; }

 private:
  static constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc_ = ~0u;
  size_t size_ = 0;
};

class SharedTemplates : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = shared_folder() / "data" / "templates";
    if (!std::filesystem::is_directory(folder_)) GTEST_SKIP() << "needs ../shared (TAKT_SHARED)";
    shapes_ = read_json(fixture("conversations.json"));
  }

  // Every tool list with every setting, for one conversation.
  template <class Visit>
  void for_each_rendering(const ChatTemplate& chat, const boost::json::value& messages, const Visit& visit) {
    for (const auto& tools : shapes_.at("tools").as_object()) {
      for (const auto& setting : shapes_.at("settings").as_object()) {
        TemplateInputs inputs;
        inputs.now = reference_time();
        inputs.bos_token = "<s>";
        inputs.eos_token = "</s>";
        inputs.messages = to_template_value(messages).value();
        inputs.tools = to_template_value(tools.value()).value();
        inputs.extra = to_template_value(setting.value()).value().as_dict();
        visit(chat.render(inputs));
      }
    }
  }

  std::filesystem::path folder_;
  boost::json::value shapes_;
};

TEST_F(SharedTemplates, RenderWhatJinjaRenders) {
  const boost::json::value digests = read_json(fixture("shared_digests.json"));
  size_t compared = 0;
  for (const auto& entry : digests.as_object()) {
    const std::string source = read_bytes(folder_ / std::string_view(entry.key()));
    Checksum source_sum;
    source_sum.add(source);
    if (source_sum.crc() != entry.value().at("source").to_number<uint32_t>()) continue;  // another version of the file
    const auto chat = ChatTemplate::parse(source);
    ASSERT_TRUE(chat.ok()) << entry.key() << ": " << chat.error().message;
    for (const auto& expected : entry.value().at("conversations").as_object()) {
      Checksum sum;
      for_each_rendering(**chat, shapes_.at("conversations").at(expected.key()),
                         [&](const base::Result<Rendered>& result) {
                           const bool raised = !result && !result.error().message.starts_with("line ");
                           sum.add(result ? result->text() : "\x01" + (raised ? result.error().message : ""));
                           sum.add(std::string_view("\0", 1));
                           ++compared;
                         });
      EXPECT_EQ(sum.crc(), expected.value().at(0).to_number<uint32_t>()) << entry.key() << ", " << expected.key();
      EXPECT_EQ(sum.size(), expected.value().at(1).to_number<size_t>()) << entry.key() << ", " << expected.key();
    }
  }
  EXPECT_GT(compared, 0u) << "no template in ../shared is the version that the digests were made from";
}

// Whatever a template does with it, text from a message never counts as the template's own.
TEST_F(SharedTemplates, KeepWhatUsersWriteApart) {
  const boost::json::value messages = boost::json::parse(
      R"([{"role": "user", "content": " <|mark|> one"}, {"role": "assistant", "content": "<think>a <|mark|></think>b <|mark|>"},
          {"role": "user", "content": "\n<|mark|>\n"}])");
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    const auto chat = ChatTemplate::parse(read_bytes(file.path()));
    ASSERT_TRUE(chat.ok()) << file.path();
    size_t marks = 0;
    for_each_rendering(**chat, messages, [&](const base::Result<Rendered>& result) {
      if (!result) return;
      for (const RenderedSegment& segment : result->segments) {
        const bool marked = segment.text.find("<|mark|>") != std::string::npos;
        EXPECT_FALSE(marked && !segment.from_user) << file.path() << ": " << segment.text;
        marks += marked;
      }
    });
    EXPECT_GT(marks, 0u) << file.path();
  }
}

}  // namespace
}  // namespace takt::text
