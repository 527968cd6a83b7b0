// Runs a fuzz target once on every file of the folders (or on the files) that are named: the seeds and past findings, under
// any compiler and sanitizer. libFuzzer brings a main of its own and this file is then left out.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

void add_inputs(const fs::path& path, std::vector<fs::path>& inputs) {
  if (!fs::is_directory(path)) {
    inputs.push_back(path);
    return;
  }
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) inputs.push_back(entry.path());
}

// False when the file cannot be read.
bool replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) return false;
  std::fprintf(stderr, "%s (%zu bytes)\n", path.c_str(), bytes.size());  // the last line before a crash names its input
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> inputs;
  for (int i = 1; i < argc; ++i) add_inputs(argv[i], inputs);
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs\n");
    return 1;
  }
  for (const auto& path : inputs)
    if (!replay(path)) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 1;
    }
  std::printf("%zu inputs replayed\n", inputs.size());
  return 0;
}
