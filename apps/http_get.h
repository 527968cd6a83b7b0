// One GET request over plain HTTP.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::apps {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// `url`: http://HOST[:PORT], without a path. `api_key`: empty: none. Errors: invalid_argument (the URL), io.
base::Result<HttpAnswer> http_get(const std::string& url, const std::string& path, const std::string& api_key);

}  // namespace takt::apps
