// Runs tests/bad_files/make_bad_files.py and opens every file it wrote: each must be refused, in words that name what
// is wrong.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gguf/file.h"

namespace takt::gguf {
namespace {

// "" when the read succeeds.
template <class T>
std::string message_of(const base::Result<T>& result) {
  return result ? "" : result.error().message;
}

std::string read_message(const File& file, const std::string& type, const std::string& key) {
  if (type == "u32") return message_of(file.u32(key));
  if (type == "f32") return message_of(file.f32(key));
  if (type == "boolean") return message_of(file.boolean(key));
  if (type == "string") return message_of(file.string(key));
  if (type == "strings") return message_of(file.strings(key));
  if (type == "integers") return message_of(file.integers(key));
  if (type == "floats") return message_of(file.floats(key));
  return "the manifest has an unknown type: " + type;
}

std::vector<std::string> words_of(const std::string& joined) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t end; (end = joined.find(" & ", begin)) != std::string::npos; begin = end + 3)
    words.push_back(joined.substr(begin, end - begin));
  words.push_back(joined.substr(begin));
  return words;
}

class BadFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 1 >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs python3";
    std::string pattern = (std::filesystem::temp_directory_path() / "takt-bad-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::string command = "python3 '" TAKT_SOURCE_DIR "/tests/bad_files/make_bad_files.py' '" + folder_ + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void check(const std::string& name, const std::string& action, const std::string& words) {
    SCOPED_TRACE(name);
    const std::string path = folder_ + "/" + name;
    const auto file = File::open(path);
    std::string message = message_of(file);
    if (action != "open") {
      ASSERT_TRUE(file) << message;
      std::istringstream parts(action);
      std::string read, type, key;
      parts >> read >> type >> key;
      message = read_message(**file, type, key);
    }
    EXPECT_NE(message, "") << "was accepted";
    // The name of the file must not stand in for what the message should say.
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    for (const std::string& word : words_of(words))
      EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is missing in: " << message;
    const auto has = [&](const char* word) { return message.find(word) != std::string::npos; };
    EXPECT_TRUE(has("byte ") || has("missing") || has("cannot open")) << "no byte offset in: " << message;
  }

  std::string folder_;
};

TEST_F(BadFiles, EachIsRefusedInWords) {
  std::ifstream manifest(folder_ + "/manifest.tsv");
  int count = 0;
  for (std::string line; std::getline(manifest, line); ++count) {
    std::istringstream fields(line);
    std::string name, action, words;
    std::getline(fields, name, '\t');
    std::getline(fields, action, '\t');
    std::getline(fields, words);
    check(name, action, words);
  }
  EXPECT_GE(count, 40);
}

}  // namespace
}  // namespace takt::gguf
