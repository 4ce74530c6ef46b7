#include "referee/device/company.hpp"

#include <algorithm>
#include <optional>

#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::referee::device {
namespace {

bool may_be_theirs(const SweepOutcome& outcome) {
  return outcome.failure && std::ranges::any_of(outcome.findings, [](const Finding& one) {
           return one.kind == to_string(Outcome::out_of_memory) ||
                  one.kind == to_string(Outcome::load_failed) ||
                  one.kind == to_string(Outcome::timeout);
         });
}

}  // namespace

SweepOutcome beside_others(const std::function<SweepOutcome(GpuUse)>& sweep) {
  std::optional<SweepOutcome> made;
  try {
    made = sweep(GpuUse::replay);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  return made && !may_be_theirs(*made) ? std::move(*made) : sweep(GpuUse::time);
}

}  // namespace ouroboros::referee::device
