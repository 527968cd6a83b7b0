#include "gguf/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace takt::gguf {
namespace {

// Puts a file together byte by byte, independently of writer.h, so that the reader is tested against the specification.
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
  Bytes& header(uint64_t tensor_count, uint64_t value_count, uint32_t version = 3) {
    return raw("GGUF").put<uint32_t>(version).put(tensor_count).put(value_count);
  }
  template <class T>
  Bytes& value(std::string_view key, ValueType type, T number) {
    return text(key).put(type).put(number);
  }
  Bytes& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    text(name).put<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) put(dim);
    return put(type).put(offset);
  }
  Bytes& pad(size_t alignment) {
    bytes_.append((alignment - bytes_.size() % alignment) % alignment, '\0');
    return *this;
  }
  size_t size() const { return bytes_.size(); }
  const std::string& string() const { return bytes_; }
  std::string& string() { return bytes_; }
  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

// One value of each kind, two tensors, alignment 64.
Bytes good_file() {
  Bytes b;
  b.header(2, 10);
  b.text("general.architecture").put(ValueType::string).text("llama");
  b.value<uint32_t>("general.alignment", ValueType::u32, 64);
  b.value<uint64_t>("llama.block_count", ValueType::u64, 30);
  b.value<float>("llama.rope.freq_base", ValueType::f32, 1e5f);
  b.value<double>("llama.epsilon", ValueType::f64, 1e-5);
  b.value<uint8_t>("some.flag", ValueType::boolean, 1);
  b.text("tokens").put(ValueType::array).put(ValueType::string).put<uint64_t>(3).text("a").text("").text("\xff b");
  b.text("scores").put(ValueType::array).put(ValueType::f32).put<uint64_t>(2).put(0.5f).put(-1.5f);
  b.text("heads")
      .put(ValueType::array)
      .put(ValueType::i16)
      .put<uint64_t>(3)
      .put<int16_t>(4)
      .put<int16_t>(-2)
      .put<int16_t>(8);
  b.text("flags").put(ValueType::array).put(ValueType::boolean).put<uint64_t>(2).put<uint8_t>(1).put<uint8_t>(0);
  b.tensor("first.weight", {32, 3}, 8, 0);  // Q8_0: 3 × 34 bytes
  b.tensor("second.bias", {5}, 0, 128);
  b.pad(64);
  b.raw(std::string(128, '\1'));
  for (int i = 0; i < 5; ++i) b.put(static_cast<float>(i));
  return b;
}

std::unique_ptr<File> parsed(const Bytes& bytes) {
  auto file = File::parse(bytes.span());
  EXPECT_TRUE(file) << file.error().message;
  return file ? std::move(*file) : nullptr;
}
std::unique_ptr<File> parsed(Bytes&&) = delete;  // a File only views the bytes

TEST(File, ReadsEveryKindOfValue) {
  const Bytes bytes = good_file();
  const auto file = parsed(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->file_bytes(), bytes.size());
  EXPECT_EQ(file->alignment_bytes(), 64u);
  EXPECT_EQ(file->values().size(), 10u);
  EXPECT_EQ(file->values()[2].key, "llama.block_count");
  EXPECT_EQ(*file->string("general.architecture"), "llama");
  EXPECT_EQ(*file->u32("llama.block_count"), 30u);
  EXPECT_EQ(*file->f32("llama.rope.freq_base"), 1e5f);
  EXPECT_EQ(*file->f32("llama.epsilon"), 1e-5f);
  EXPECT_TRUE(*file->boolean("some.flag"));
  const auto tokens = file->strings("tokens");
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->size(), 3u);
  EXPECT_EQ((*tokens)[1], "");
  EXPECT_EQ((*tokens)[2], "\xff b");
  const auto scores = file->floats("scores");
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->size(), 2u);
  EXPECT_EQ((*scores)[1], -1.5f);
  const auto heads = file->integers("heads");
  ASSERT_TRUE(heads);
  EXPECT_EQ((*heads)[1], -2);
  const auto flags = file->integers("flags");
  ASSERT_TRUE(flags);
  EXPECT_EQ((*flags)[0], 1);
}

TEST(File, FallbacksServeMissingKeysOnly) {
  const Bytes bytes = good_file();
  const auto file = parsed(bytes);
  EXPECT_EQ(*file->u32_or("none", 7), 7u);
  EXPECT_EQ(*file->f32_or("none", 0.5f), 0.5f);
  EXPECT_TRUE(*file->boolean_or("none", true));
  EXPECT_EQ(*file->string_or("none", "x"), "x");
  EXPECT_FALSE(file->u32_or("general.architecture", 7));
  EXPECT_EQ(file->u32("none").error().code, base::ErrorCode::not_found);
  EXPECT_EQ(file->u32("general.architecture").error().code, base::ErrorCode::invalid_file);
}

TEST(File, PerLayerNumbers) {
  const Bytes bytes = good_file();
  const auto file = parsed(bytes);
  EXPECT_EQ(*file->u32_per_layer("llama.block_count", 3), (std::vector<uint32_t>{30, 30, 30}));
  EXPECT_EQ(*file->u32_per_layer("flags", 2), (std::vector<uint32_t>{1, 0}));
  EXPECT_FALSE(file->u32_per_layer("heads", 3)) << "holds -2";
  EXPECT_FALSE(file->u32_per_layer("flags", 3)) << "two elements";
  EXPECT_FALSE(file->u32_per_layer("llama.block_count", 1ull << 40)) << "would allocate terabytes";
}

TEST(File, PlacesTensors) {
  const Bytes bytes = good_file();
  const auto file = parsed(bytes);
  ASSERT_EQ(file->tensors().size(), 2u);
  const Tensor* first = file->find_tensor("first.weight");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->format(), base::WeightFormat::q8_0);
  EXPECT_EQ(first->dim_count, 2);
  EXPECT_EQ(first->dims[0], 32u);
  EXPECT_EQ(first->dims[1], 3u);
  EXPECT_EQ(first->dims[2], 1u);
  EXPECT_EQ(first->weight_count, 96u);
  EXPECT_EQ(first->bytes.size(), 102u);
  EXPECT_EQ(first->offset % 64, 0u);
  const Tensor* second = file->find_tensor("second.bias");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes.data(), bytes.span().data() + second->offset);
  float last;
  std::memcpy(&last, second->bytes.data() + 16, sizeof last);
  EXPECT_EQ(last, 4.0f);
  EXPECT_EQ(file->find_tensor("third"), nullptr);
  EXPECT_NE(file->tensor_error(*second, "is odd").message.find("'second.bias' is odd (byte "), std::string::npos);
}

TEST(File, Version2AndVocabularyOnly) {
  Bytes bytes;
  bytes.header(0, 1, 2).text("general.architecture").put(ValueType::string).text("gpt2");
  const auto file = parsed(bytes);
  EXPECT_EQ(file->version(), 2u);
  EXPECT_TRUE(file->tensors().empty());
}

TEST(File, ListsATensorOfUnknownType) {
  Bytes bytes;
  bytes.header(2, 0).tensor("new", {256}, 77, 0).tensor("known", {8}, 0, 64).pad(32).raw(std::string(96, '\0'));
  const auto file = parsed(bytes);
  const Tensor* tensor = file->find_tensor("new");
  ASSERT_TRUE(tensor);
  EXPECT_FALSE(tensor->is_size_known);
  EXPECT_FALSE(tensor->format());
  EXPECT_TRUE(tensor->bytes.empty());
  EXPECT_EQ(tensor_type_name(tensor->type), "type 77");
  EXPECT_TRUE(file->find_tensor("known")->is_size_known);
}

TEST(File, EveryTruncationIsRefused) {
  const Bytes whole = good_file();
  for (size_t length = 0; length < whole.size(); ++length) {
    // A heap copy of exactly this length, so that the sanitizer sees a read past its end.
    const std::vector<std::byte> cut(whole.span().begin(), whole.span().begin() + static_cast<std::ptrdiff_t>(length));
    const auto file = File::parse(cut);
    ASSERT_FALSE(file) << "accepted after " << length << " of " << whole.size() << " bytes";
    EXPECT_NE(file.error().message.find("byte "), std::string::npos) << file.error().message;
  }
}

// Changing one or two bytes anywhere gives a file that is either refused in words or still consistent: every view
// inside it.
TEST(File, EveryMutationIsRefusedOrConsistent) {
  const Bytes whole = good_file();
  std::mt19937 random(20);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(whole.span().begin(), whole.span().end());
    for (int change = 0; change <= round % 2; ++change)
      bytes[random() % bytes.size()] = static_cast<std::byte>(round % 3 == 0 ? 0xff : random());
    const auto file = File::parse(bytes);
    if (!file) {
      ++refused;
      ASSERT_FALSE(file.error().message.empty());
      continue;
    }
    for (const Tensor& tensor : (*file)->tensors()) {
      ASSERT_LE(tensor.offset + tensor.bytes.size(), bytes.size());
      if (tensor.is_size_known) {
        ASSERT_EQ(tensor.bytes.data(), bytes.data() + tensor.offset);
      }
    }
    for (const Value& value : (*file)->values()) {
      ASSERT_LE(value.offset + value.bytes.size(), bytes.size());
      (void)(*file)->u32(value.key).ok();
      (void)(*file)->floats(value.key).ok();
      (void)(*file)->strings(value.key).ok();
    }
  }
  EXPECT_GT(refused, 1000);
}

class FileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "takt-gguf-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const Bytes& bytes) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes.string();
    return folder_ + "/" + name;
  }
  std::string folder_;
};

Bytes split_part(uint16_t part, uint16_t count, std::string_view tensor_name, float first_weight) {
  Bytes bytes;
  bytes.header(1, 4).text("general.name").put(ValueType::string).text("part " + std::to_string(part));
  bytes.value("split.no", ValueType::u16, part).value("split.count", ValueType::u16, count);
  bytes.value<int32_t>("split.tensors.count", ValueType::i32, count);
  bytes.tensor(tensor_name, {4}, 0, 0).pad(32).put(first_weight).raw(std::string(12, '\0'));
  return bytes;
}

TEST_F(FileOnDisk, FollowsASplitSet) {
  const std::string path = write("m-00001-of-00003.gguf", split_part(0, 3, "a", 1.0f));
  write("m-00002-of-00003.gguf", split_part(1, 3, "b", 2.0f));
  write("m-00003-of-00003.gguf", split_part(2, 3, "c", 3.0f));
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->part_count(), 3);
  EXPECT_EQ((*file)->tensors().size(), 3u);
  EXPECT_EQ(*(*file)->string("general.name"), "part 0");
  const Tensor* last = (*file)->find_tensor("c");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->part, 2);
  float weight;
  std::memcpy(&weight, last->bytes.data(), sizeof weight);
  EXPECT_EQ(weight, 3.0f);
  EXPECT_NE((*file)->tensor_error(*last, "x").message.find("of part 3"), std::string::npos);
}

TEST_F(FileOnDisk, DroppedPagesReadTheSameAgain) {
  Bytes bytes;
  bytes.header(1, 0).tensor("big", {65536}, 0, 0).pad(32);
  for (int i = 0; i < 65536; ++i) bytes.put(static_cast<float>(i));
  const auto file = File::open(write("big.gguf", bytes));
  ASSERT_TRUE(file) << file.error().message;
  const Tensor* big = (*file)->find_tensor("big");
  const std::vector<std::byte> before(big->bytes.begin(), big->bytes.end());
  (*file)->advise_dont_need(big->bytes);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), big->bytes.begin()));
  (*file)->advise_dont_need(before);  // not in the mapping: nothing happens
}

TEST_F(FileOnDisk, RefusesWhatIsNoFile) {
  EXPECT_EQ(File::open(folder_ + "/none.gguf").error().code, base::ErrorCode::not_found);
  EXPECT_EQ(File::open(folder_).error().code, base::ErrorCode::io);
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(File::open(pipe).error().code, base::ErrorCode::io) << "and must not wait for a writer";
}

}  // namespace
}  // namespace takt::gguf
