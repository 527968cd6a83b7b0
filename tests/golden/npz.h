// Reads the arrays of an uncompressed .npz file (a zip of .npy files): int32 and float32, C order, little-endian.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace takt::tests {

struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<int32_t> ints;  // one of the two is filled
  std::vector<float> floats;
};

// Throws std::runtime_error with the reason; test data only.
std::map<std::string, NpyArray> read_npz(const std::string& path);

}  // namespace takt::tests
