#include <array>
#include <utility>

#include "ouroboros/verdict.hpp"

namespace ouroboros {
namespace {

constexpr std::array<std::pair<Status, std::string_view>, 8> names{{
    {Status::ok, "ok"},
    {Status::compile_error, "compile_error"},
    {Status::runtime_error, "runtime_error"},
    {Status::incorrect, "incorrect"},
    {Status::rejected, "rejected"},
    {Status::timeout, "timeout"},
    {Status::invalid_problem, "invalid_problem"},
    {Status::infrastructure_error, "infrastructure_error"},
}};

}  // namespace

std::string_view to_string(Status status) noexcept {
  for (const auto& [value, name] : names) {
    if (value == status) return name;
  }
  return "unknown";
}

std::optional<Status> parse_status(std::string_view name) noexcept {
  for (const auto& [value, text] : names) {
    if (text == name) return value;
  }
  return std::nullopt;
}

bool is_candidate_fault(Status status) noexcept {
  switch (status) {
    case Status::compile_error:
    case Status::runtime_error:
    case Status::incorrect:
    case Status::rejected:
    case Status::timeout:
      return true;
    case Status::ok:
    case Status::invalid_problem:
    case Status::infrastructure_error:
      return false;
  }
  return false;
}

bool is_infrastructure_fault(Status status) noexcept {
  return status == Status::invalid_problem || status == Status::infrastructure_error;
}

}  // namespace ouroboros
