// The public name of a request, in the header x-request-id, in logs and in reply ids.
#pragma once

#include <string>
#include <string_view>

namespace takt::server {

// 24 random hexadecimal digits. Thread-safe.
std::string make_request_id();

// Whether a client's id may be used as it is: 1 to 128 of A-Z a-z 0-9 . _ : -
bool is_valid_request_id(std::string_view id);

}  // namespace takt::server
