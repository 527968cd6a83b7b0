// Where the tests of this folder find data that is not in the tree. Included by tests only.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/error.h"
#include "gguf/file.h"
#include "text/tokenizer.h"
#include "text/vocabulary_reader.h"

namespace takt::text {

inline std::filesystem::path shared_folder() {
  const char* folder = std::getenv("TAKT_SHARED");
  return folder != nullptr ? std::filesystem::path(folder) : std::filesystem::path(TAKT_SOURCE_DIR) / ".." / "shared";
}

inline std::filesystem::path model_file(const std::string& name) {
  if (const char* cache = std::getenv("TAKT_CACHE")) return std::filesystem::path(cache) / "models" / (name + ".gguf");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const auto base =
      xdg != nullptr ? std::filesystem::path(xdg) : std::filesystem::path(home != nullptr ? home : "") / ".cache";
  return base / "takt" / "models" / (name + ".gguf");
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline base::Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::filesystem::path& path) {
  const auto file = gguf::File::open(path.string());
  if (!file) return file.error();
  auto data = read_vocabulary(**file);
  if (!data) return data.error();
  return Tokenizer::create(std::move(*data));
}

}  // namespace takt::text
