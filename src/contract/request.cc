#include "contract/request.h"

namespace takt::contract {

std::string_view name(ServiceClass service_class) {
  switch (service_class) {
    case ServiceClass::interactive: return "interactive";
    case ServiceClass::batch: return "batch";
    case ServiceClass::background: return "background";
  }
  return "interactive";
}

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none: return "none";
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::error: return "error";
  }
  return "none";
}

}  // namespace takt::contract
