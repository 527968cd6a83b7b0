// What `takt inspect` prints must be safe to print: a file's strings may hold anything.
#include "../../apps/describe_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace takt {
namespace {

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(std::string_view value) {
    put<uint64_t>(value.size());
    bytes_.append(value);
    return *this;
  }
  Bytes& raw(std::string_view value) {
    bytes_.append(value);
    return *this;
  }
  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

// One tensor of F32, one of an unknown type, and strings that a terminal or a JSON reader would choke on.
Bytes nasty_file() {
  Bytes b;
  b.raw("GGUF").put<uint32_t>(3).put<uint64_t>(2).put<uint64_t>(4);
  b.text("general.architecture").put<uint32_t>(8).text("llama");
  b.text("general.name").put<uint32_t>(8).text("clear \x1b[2J \xc2\x9b \xff\xfe end\xc3");
  b.text("tokenizer.ggml.tokens").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(100);
  for (int i = 0; i < 100; ++i) b.text("\xe2\x96\x81t" + std::to_string(i));
  b.text("some.base").put<uint32_t>(6).put(1e-6f);
  b.text("known").put<uint32_t>(1).put<uint64_t>(8).put<uint32_t>(0).put<uint64_t>(0);
  b.text("new").put<uint32_t>(1).put<uint64_t>(1ull << 62).put<uint32_t>(77).put<uint64_t>(32);
  b.raw(std::string((32 - b.span().size() % 32) % 32, '\0')).raw(std::string(64, '\0'));
  return b;
}

TEST(DescribeFile, TextHasNoControlBytesAndNamesTheUnknownType) {
  const Bytes bytes = nasty_file();
  const auto file = gguf::File::parse(bytes.span());
  ASSERT_TRUE(file) << file.error().message;
  const std::string text = apps::describe(**file, true);
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("clear \\x1b[2J \\u009b \\xff\\xfe end\\xc3")) << text;
  EXPECT_TRUE(has("string × 100")) << text;
  EXPECT_TRUE(has("= 1e-06")) << text;
  EXPECT_TRUE(has("type 77") && has("cannot be run")) << text;
  EXPECT_FALSE(has("t99")) << "long arrays are cut";
}

TEST(DescribeFile, JsonIsJson) {
  const Bytes bytes = nasty_file();
  const auto file = gguf::File::parse(bytes.span());
  ASSERT_TRUE(file) << file.error().message;
  const std::string text = boost::json::serialize(apps::describe_json(**file, true));
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(text, error);  // checks UTF-8 too
  ASSERT_FALSE(error) << error.message() << text;
  const auto& object = parsed.as_object();
  EXPECT_EQ(object.at("architecture"), "llama");
  EXPECT_EQ(object.at("metadata").at("tokenizer.ggml.tokens").at("count").to_number<int>(), 100);
  EXPECT_EQ(object.at("tensors").as_array().size(), 2u);
  EXPECT_FALSE(object.at("tensors").at(1).as_object().contains("bytes")) << "its size is not known";
}

}  // namespace
}  // namespace takt
