#include "golden/npz.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace takt::tests {
namespace {

template <class T>
T read_at(const std::string& bytes, size_t offset) {
  if (offset + sizeof(T) > bytes.size()) throw std::runtime_error("the file is cut off");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

NpyArray parse_npy(const std::string& bytes) {
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) throw std::runtime_error("not an array");
  const size_t header_bytes = read_at<uint16_t>(bytes, 8);
  const std::string header = bytes.substr(10, header_bytes);
  const std::string data = bytes.substr(10 + header_bytes);
  NpyArray array;
  size_t count = 1;
  const size_t open = header.find('('), close = header.find(')', open);
  for (size_t at = open + 1; at < close;) {
    const size_t end = std::min(header.find(',', at), close);
    if (const std::string number = header.substr(at, end - at);
        number.find_first_of("0123456789") != std::string::npos) {
      array.shape.push_back(std::stoll(number));
      count *= static_cast<size_t>(array.shape.back());
    }
    at = end + 1;
  }
  if (data.size() != count * 4) throw std::runtime_error("an array's size does not match its shape");
  const bool is_int = header.find("'<i4'") != std::string::npos;
  if (!is_int && header.find("'<f4'") == std::string::npos)
    throw std::runtime_error("an array is neither int32 nor float32");
  if (is_int)
    array.ints.resize(count);
  else
    array.floats.resize(count);
  std::memcpy(is_int ? static_cast<void*>(array.ints.data()) : static_cast<void*>(array.floats.data()), data.data(),
              data.size());
  return array;
}

}  // namespace

std::map<std::string, NpyArray> read_npz(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::map<std::string, NpyArray> arrays;
  // The central directory, found by its end record (22 bytes, no comment): PKWARE APPNOTE 4.3.
  if (bytes.size() < 22 || read_at<uint32_t>(bytes, bytes.size() - 22) != 0x06054b50)
    throw std::runtime_error(path + ": not a plain zip file");
  const size_t entries = read_at<uint16_t>(bytes, bytes.size() - 12);
  size_t at = read_at<uint32_t>(bytes, bytes.size() - 6);
  for (size_t i = 0; i < entries; ++i) {
    const size_t size = read_at<uint32_t>(bytes, at + 24), name_bytes = read_at<uint16_t>(bytes, at + 28);
    const size_t skipped = size_t{read_at<uint16_t>(bytes, at + 30)} + read_at<uint16_t>(bytes, at + 32);
    const size_t local = read_at<uint32_t>(bytes, at + 42);
    if (read_at<uint16_t>(bytes, at + 10) != 0) throw std::runtime_error(path + ": has compressed members");
    std::string name = bytes.substr(at + 46, name_bytes);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const size_t data = local + 30 + read_at<uint16_t>(bytes, local + 26) + read_at<uint16_t>(bytes, local + 28);
    arrays[name] = parse_npy(bytes.substr(data, size));
    at += 46 + name_bytes + skipped;
  }
  return arrays;
}

}  // namespace takt::tests
