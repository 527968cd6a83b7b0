#include "server/http/request_id.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>

namespace takt::server {

std::string make_request_id() {
  static std::mutex mutex;
  static std::mt19937_64 generator{(static_cast<uint64_t>(std::random_device{}()) << 32) ^ std::random_device{}()};
  std::string id;
  const std::lock_guard lock(mutex);
  while (id.size() < 24) {
    uint64_t bits = generator();
    for (int digit = 0; digit < 12; ++digit, bits >>= 4) id += "0123456789abcdef"[bits & 15];
  }
  return id;
}

bool is_valid_request_id(std::string_view id) {
  const auto is_allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == ':' || c == '-';
  };
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), is_allowed);
}

}  // namespace takt::server
