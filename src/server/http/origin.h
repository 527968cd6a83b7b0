// Which web pages may use the server (the Origin header that browsers send).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace takt::server {

// The host in "scheme://host:port", without the port; empty when malformed.
std::string_view origin_host(std::string_view origin);

// A page whose origin is on this machine, or in `allowed` ("*": every page), or, unless `is_loopback` (the server is reachable from
// this machine only), that came from the host in the request's Host header. The last exception is not made on the loopback
// interface because a foreign name can be made to point there (DNS rebinding).
bool is_origin_allowed(std::string_view origin, std::string_view host_header, const std::vector<std::string>& allowed,
                       bool is_loopback);

}  // namespace takt::server
