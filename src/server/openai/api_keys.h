// Who may use the server, and as whom.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "contract/request.h"
#include "server/http/exchange.h"

namespace takt::server {

class ApiKeys {
 public:
  // One key a line, then, if wanted, the service class of its requests that name none: `KEY [interactive|batch|background]`.
  // Blank lines and lines that begin with '#' are left out. Errors: invalid_argument, naming the line, never the key.
  static base::Result<ApiKeys> read(std::istream& in);

  // Without keys everybody may.
  bool empty() const { return keys_.empty(); }
  // Whose key the Authorization header ("Bearer KEY") has; nothing when it is none of these. The time does not depend on how much
  // of a key is right, nor on which key it is.
  std::optional<Caller> find(std::string_view authorization) const;

 private:
  struct Key {
    std::string secret;
    contract::ServiceClass default_class = contract::ServiceClass::interactive;
  };
  std::vector<Key> keys_;  // tenant i + 1
};

}  // namespace takt::server
