#include "server/openai/api_keys.h"

#include <sstream>

#include "contract/service_class.h"

namespace takt::server {
namespace {

constexpr size_t kKeyBytesMax = 256;
constexpr std::string_view kScheme = "Bearer ";

// Every byte of the longest possible key is looked at, whatever differs.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned difference = static_cast<unsigned>(a.size() ^ b.size());
  for (size_t i = 0; i < kKeyBytesMax; ++i) {
    const unsigned char left = i < a.size() ? static_cast<unsigned char>(a[i]) : 0;
    const unsigned char right = i < b.size() ? static_cast<unsigned char>(b[i]) : 0;
    difference |= static_cast<unsigned>(left ^ right);
  }
  return difference == 0;
}

}  // namespace

base::Result<ApiKeys> ApiKeys::read(std::istream& in) {
  ApiKeys keys;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto invalid = [&](const std::string& message) {
      return base::Error{base::ErrorCode::invalid_argument, "line " + std::to_string(number) + ": " + message};
    };
    std::istringstream words(line);
    Key key;
    std::string class_name, rest;
    if (!(words >> key.secret) || key.secret[0] == '#') continue;
    if (key.secret.size() > kKeyBytesMax) return invalid("the key is longer than 256 bytes");
    for (const Key& other : keys.keys_)
      if (other.secret == key.secret) return invalid("the key stands here twice");
    if (words >> class_name) {
      const auto service_class = contract::try_service_class(class_name);
      if (!service_class) return invalid("behind the key interactive, batch, background or nothing is expected");
      key.default_class = *service_class;
    }
    if (words >> rest) return invalid("more than a key and a class");
    keys.keys_.push_back(std::move(key));
  }
  return keys;
}

std::optional<Caller> ApiKeys::find(std::string_view authorization) const {
  if (!authorization.starts_with(kScheme)) return std::nullopt;
  const std::string_view secret = authorization.substr(kScheme.size());
  std::optional<Caller> found;
  for (size_t i = 0; i < keys_.size(); ++i)
    if (is_equal(keys_[i].secret, secret)) found = Caller{i + 1, keys_[i].default_class};
  return found;
}

}  // namespace takt::server
