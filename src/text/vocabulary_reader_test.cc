#include "text/vocabulary_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>

#include "gguf/value.h"
#include "text/tokenizer.h"

namespace takt::text {
namespace {

using gguf::ValueType;

// A GGUF file of metadata alone, in memory.
class FileBytes {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put<uint64_t>(text.size());
    bytes_.append(text);
  }
  FileBytes& key(std::string_view key, ValueType type) {
    put_text(key);
    put(type);
    ++value_count_;
    return *this;
  }
  void string(std::string_view name, std::string_view value) { key(name, ValueType::string).put_text(value); }
  template <class T>
  void array(std::string_view name, ValueType type, std::initializer_list<T> values) {
    key(name, ValueType::array).put(type);
    put<uint64_t>(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, const char*>) {
        put_text(value);
      } else {
        put(value);
      }
    }
  }
  base::Result<VocabularyData> read() const {
    std::string file = "GGUF";
    const uint32_t version = 3;
    const uint64_t tensor_count = 0;
    file.append(reinterpret_cast<const char*>(&version), 4).append(reinterpret_cast<const char*>(&tensor_count), 8);
    file.append(reinterpret_cast<const char*>(&value_count_), 8).append(bytes_);
    const auto parsed = gguf::File::parse(std::as_bytes(std::span(file)));
    if (!parsed) return parsed.error();
    return read_vocabulary(**parsed);
  }

 private:
  std::string bytes_;
  uint64_t value_count_ = 0;
};

FileBytes spm_base() {
  FileBytes file;
  file.string("general.name", "Three tokens");
  file.string("tokenizer.ggml.model", "llama");
  file.array<const char*>("tokenizer.ggml.tokens", ValueType::string, {"<s>", "a", "b"});
  return file;
}

std::string error_of(const FileBytes& file) {
  const auto data = file.read();
  EXPECT_FALSE(data.ok());
  return data.ok() ? std::string() : data.error().message;
}

TEST(VocabularyReader, ReadsWhatIsThere) {
  FileBytes file = spm_base();
  file.array<float>("tokenizer.ggml.scores", ValueType::f32, {0.0f, -1.5f, -2.0f});
  file.array<int32_t>("tokenizer.ggml.token_type", ValueType::i32, {3, 1, 1});
  file.key("tokenizer.ggml.bos_token_id", ValueType::u32).put<uint32_t>(0);
  file.key("tokenizer.ggml.add_bos_token", ValueType::boolean).put<uint8_t>(0);
  const auto data = file.read();
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->model, "llama");
  EXPECT_EQ(data->model_name, "Three tokens");
  EXPECT_EQ(data->tokens, (std::vector<std::string>{"<s>", "a", "b"}));
  EXPECT_EQ(data->scores, (std::vector<float>{0.0f, -1.5f, -2.0f}));
  EXPECT_EQ(data->token_types, (std::vector<TokenType>{TokenType::control, TokenType::normal, TokenType::normal}));
  EXPECT_EQ(data->bos, 0);
  EXPECT_EQ(data->eos, std::nullopt);
  EXPECT_EQ(data->add_bos, false);
  EXPECT_EQ(data->add_space_prefix, std::nullopt);
  EXPECT_TRUE(Tokenizer::create(*data).ok());
}

TEST(VocabularyReader, NamesWhatIsMissing) {
  EXPECT_NE(error_of(FileBytes()).find("tokenizer.ggml.model"), std::string::npos);
  FileBytes without_tokens;
  without_tokens.string("tokenizer.ggml.model", "llama");
  EXPECT_NE(error_of(without_tokens).find("tokenizer.ggml.tokens"), std::string::npos);
  FileBytes without_merges;
  without_merges.string("tokenizer.ggml.model", "gpt2");
  without_merges.array<const char*>("tokenizer.ggml.tokens", ValueType::string, {"a"});
  EXPECT_NE(error_of(without_merges).find("tokenizer.ggml.merges"), std::string::npos);
}

// A reader that takes one-byte elements for wider numbers reads past the array.
TEST(VocabularyReader, ChecksElementTypes) {
  FileBytes scores = spm_base();
  scores.array<uint8_t>("tokenizer.ggml.scores", ValueType::u8, {0, 1, 2});
  EXPECT_NE(error_of(scores).find("tokenizer.ggml.scores"), std::string::npos);
  FileBytes types = spm_base();
  types.array<float>("tokenizer.ggml.token_type", ValueType::f32, {1, 1, 1});
  EXPECT_NE(error_of(types).find("tokenizer.ggml.token_type"), std::string::npos);
  FileBytes narrow_types = spm_base();
  narrow_types.array<uint8_t>("tokenizer.ggml.token_type", ValueType::u8, {3, 1, 1});
  const auto data = narrow_types.read();
  ASSERT_TRUE(data.ok());  // any integer type will do
  EXPECT_EQ(data->token_types[0], TokenType::control);
  FileBytes tokens;
  tokens.string("tokenizer.ggml.model", "llama");
  tokens.array<int32_t>("tokenizer.ggml.tokens", ValueType::i32, {1, 2});
  EXPECT_NE(error_of(tokens).find("tokenizer.ggml.tokens"), std::string::npos);
}

TEST(VocabularyReader, ChecksLengthsAndRanges) {
  FileBytes scores = spm_base();
  scores.array<float>("tokenizer.ggml.scores", ValueType::f32, {0, 1});
  EXPECT_NE(error_of(scores).find("has 2 entries"), std::string::npos);
  FileBytes types = spm_base();
  types.array<int32_t>("tokenizer.ggml.token_type", ValueType::i32, {1, 1, 1, 1});
  EXPECT_NE(error_of(types).find("has 4 entries"), std::string::npos);
  FileBytes unknown_type = spm_base();
  unknown_type.array<int32_t>("tokenizer.ggml.token_type", ValueType::i32, {1, 7, 1});
  EXPECT_NE(error_of(unknown_type).find("the type 7 at index 1"), std::string::npos);
  FileBytes id = spm_base();
  id.key("tokenizer.ggml.eos_token_id", ValueType::u32).put<uint32_t>(3);
  EXPECT_NE(error_of(id).find("tokenizer.ggml.eos_token_id"), std::string::npos);
  FileBytes negative_id = spm_base();
  negative_id.key("tokenizer.ggml.padding_token_id", ValueType::i32).put<int32_t>(-1);
  EXPECT_NE(error_of(negative_id).find("tokenizer.ggml.padding_token_id"), std::string::npos);
  FileBytes flag = spm_base();
  flag.key("tokenizer.ggml.add_bos_token", ValueType::u32).put<uint32_t>(1);
  EXPECT_NE(error_of(flag).find("tokenizer.ggml.add_bos_token"), std::string::npos);
}

}  // namespace
}  // namespace takt::text
