// GET /v1/takt/bounds: what the present load means for those in it, and what became of the promises so far.
#pragma once

#include <string>

#include "contract/scheduler_port.h"

namespace takt::server {

std::string bounds_json(const contract::Bounds& bounds);

}  // namespace takt::server
