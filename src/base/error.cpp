#include "ouroboros/error.hpp"

namespace ouroboros {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::io:
      return "io";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::sandbox_unavailable:
      return "sandbox_unavailable";
    case ErrorCode::compiler_missing:
      return "compiler_missing";
    case ErrorCode::executor_lost:
      return "executor_lost";
    case ErrorCode::unstable:
      return "unstable";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, std::source_location where)
    : std::runtime_error(message), code_(code), where_(where) {}

}  // namespace ouroboros
