#include "server/http/origin.h"

#include <algorithm>

namespace takt::server {

namespace {

// "host:port", "[::1]:port" or without a port.
std::string_view without_port(std::string_view authority) {
  if (!authority.empty() && authority.front() == '[') return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

}  // namespace

std::string_view origin_host(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  return without_port(origin.substr(scheme + 3));
}

bool is_origin_allowed(std::string_view origin, std::string_view host_header, const std::vector<std::string>& allowed,
                       bool is_loopback) {
  const auto is_listed = [&](const std::string& entry) { return entry == "*" || entry == origin; };
  if (std::any_of(allowed.begin(), allowed.end(), is_listed)) return true;
  const std::string_view host = origin_host(origin);
  if (host == "localhost" || host == "127.0.0.1" || host == "[::1]") return true;
  return !is_loopback && !host.empty() && host == without_port(host_header);
}

}  // namespace takt::server
