#include "base/error.h"

namespace takt::base {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::invalid_file: return "invalid_file";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::exceed_context_size: return "exceed_context_size";
    case ErrorCode::template_error: return "template_error";
    case ErrorCode::queue_full: return "queue_full";
    case ErrorCode::limit_unreachable: return "limit_unreachable";
    case ErrorCode::unauthorized: return "unauthorized";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::shutting_down: return "shutting_down";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

}  // namespace takt::base
