// A tiny synthetic model in a temporary file, for tests that need no real one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "contract/ids.h"
#include "gguf/synth.h"

namespace takt::tests {

// Written when made, removed at the end.
class TinyModelFile {
 public:
  TinyModelFile(const std::string& like, const std::string& quant)
      : path_(std::filesystem::temp_directory_path() /
              ("takt_tiny_" + std::to_string(getpid()) + "_" + std::to_string(count_++) + ".gguf")) {
    gguf::SynthSpec spec;
    spec.like = like;
    spec.quant = quant;
    spec.is_tiny = true;
    const auto status = gguf::write_synthetic(spec, path_.string());
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  ~TinyModelFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TinyModelFile(const TinyModelFile&) = delete;
  TinyModelFile& operator=(const TinyModelFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

inline std::vector<contract::TokenId> random_tokens(uint64_t seed, size_t count, uint32_t vocabulary) {
  std::mt19937_64 random(seed);
  std::vector<contract::TokenId> tokens(count);
  for (auto& token : tokens) token = static_cast<contract::TokenId>(random() % vocabulary);
  return tokens;
}

}  // namespace takt::tests
