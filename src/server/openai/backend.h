// The model being served, as the endpoints see it.
#pragma once

#include <cstdint>
#include <string>

#include "contract/model_shape.h"
#include "contract/serving_port.h"
#include "server/metrics/live_json.h"
#include "server/text_services.h"

namespace takt::server {

struct Backend {
  std::string name;  // what /v1/models shows; requests may ask for any name
  contract::ModelShape shape;
  uint32_t context_tokens = 0;            // positions that one request may have, prompt and output
  int64_t created = 0;                    // seconds since 1970: when it was ready
  contract::ServingPort* port = nullptr;  // outlives the server
  TextServices text;
  LiveModel live;
};

}  // namespace takt::server
