// A service class by its name.
#pragma once

#include <optional>
#include <string_view>

#include "contract/request.h"

namespace takt::contract {

// The opposite of name(ServiceClass); nothing when no class is called so.
std::optional<ServiceClass> try_service_class(std::string_view text);

}  // namespace takt::contract
