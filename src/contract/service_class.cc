#include "contract/service_class.h"

#include "contract/service_policy.h"

namespace takt::contract {

std::optional<ServiceClass> try_service_class(std::string_view text) {
  for (const ServiceClass service_class : kServiceClasses)
    if (name(service_class) == text) return service_class;
  return std::nullopt;
}

}  // namespace takt::contract
