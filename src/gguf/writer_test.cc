#include "gguf/writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gguf/file.h"

namespace takt::gguf {
namespace {

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "takt-writer-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern + "/out.gguf";
  }
  void TearDown() override { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
  std::string path_;
};

TEST_F(WriterTest, TheReaderGetsBackWhatWasWritten) {
  auto writer = Writer::create(path_);
  ASSERT_TRUE(writer);
  writer->add_u32("count", 7);
  writer->add_f32("base", 0.25f);
  writer->add_bool("flag", true);
  writer->add_string("text", "two\nlines");
  const std::vector<std::string> tokens = {"", "a", "bc"};
  writer->add_strings("tokens", tokens);
  const std::vector<int32_t> types = {1, -2};
  writer->add_i32s("types", types);
  const std::vector<float> scores = {-0.5f};
  writer->add_f32s("scores", scores);
  const uint64_t odd[] = {32, 3}, vector[] = {3};
  ASSERT_TRUE(writer->add_tensor("odd", base::WeightFormat::q4_0, odd));  // 54 bytes: needs padding
  ASSERT_TRUE(writer->add_tensor("vector", base::WeightFormat::f32, vector));
  EXPECT_EQ(writer->tensor_bytes(), 66u);
  ASSERT_TRUE(writer->begin_data());
  const std::vector<std::byte> blocks(54, std::byte{9});
  ASSERT_TRUE(writer->write(std::span(blocks).first(20)));
  ASSERT_TRUE(writer->write(std::span(blocks).last(34)));
  const float numbers[] = {1, 2, 3};
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(numbers))));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the name appears when the file is complete";
  ASSERT_TRUE(writer->finish());

  const auto file = File::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*(*file)->u32("count"), 7u);
  EXPECT_EQ(*(*file)->f32("base"), 0.25f);
  EXPECT_TRUE(*(*file)->boolean("flag"));
  EXPECT_EQ(*(*file)->string("text"), "two\nlines");
  EXPECT_EQ((*(*file)->strings("tokens"))[2], "bc");
  EXPECT_EQ((*(*file)->integers("types"))[1], -2);
  EXPECT_EQ((*(*file)->floats("scores"))[0], -0.5f);
  const Tensor* tensor = (*file)->find_tensor("odd");
  EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), tensor->bytes.begin(), tensor->bytes.end()));
  const Tensor* last = (*file)->find_tensor("vector");
  const auto expected = std::as_bytes(std::span(numbers));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), last->bytes.begin(), last->bytes.end()));
}

TEST_F(WriterTest, RefusesShapesThatNoReaderWouldTake) {
  auto writer = Writer::create(path_);
  ASSERT_TRUE(writer);
  const auto refuses = [&](std::string_view name, base::WeightFormat format, std::vector<uint64_t> dims) {
    return !writer->add_tensor(name, format, dims);
  };
  EXPECT_TRUE(refuses("", base::WeightFormat::f32, {1}));
  EXPECT_TRUE(refuses(std::string(65, 'n'), base::WeightFormat::f32, {1}));
  EXPECT_TRUE(refuses("w", base::WeightFormat::f32, {}));
  EXPECT_TRUE(refuses("w", base::WeightFormat::f32, {1, 1, 1, 1, 1}));
  EXPECT_TRUE(refuses("w", base::WeightFormat::f32, {4, 0}));
  EXPECT_TRUE(refuses("w", base::WeightFormat::q4_k, {128}));
  EXPECT_TRUE(refuses("w", base::WeightFormat::f32, {1ull << 40, 1ull << 40}));
}

TEST_F(WriterTest, AnUnfinishedFileLeavesNothing) {
  const uint64_t dims[] = {8};
  {
    auto writer = Writer::create(path_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add_tensor("w", base::WeightFormat::f32, dims));
    ASSERT_TRUE(writer->begin_data());
    const std::vector<std::byte> too_much(33);
    EXPECT_FALSE(writer->write(too_much));
    EXPECT_FALSE(writer->finish()) << "no data yet";
  }
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(path_).parent_path()));
}

}  // namespace
}  // namespace takt::gguf
