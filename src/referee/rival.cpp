#include "referee/rival.hpp"

#include <fmt/format.h>

#include <memory>

#include "ouroboros/error.hpp"
#include "referee/device/contender.hpp"
#include "referee/device/device.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {

bool on_host(const Contender& contender) noexcept {
  const auto* candidate = std::get_if<Candidate>(&contender.what);
  return candidate != nullptr && !device::serves(candidate->language);
}

Baseline rival(const Problem& problem, const Contender& contender, const Options& options) {
  Baseline baseline;
  baseline.name = contender.name;
  const auto* candidate = std::get_if<Candidate>(&contender.what);
  if (candidate == nullptr) {
    baseline.plan = std::get<1>(contender.what);
    return baseline;
  }
  auto compiled = std::make_shared<const Compiled>(compile(problem, *candidate, options));
  if (compiled->failure) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' cannot be compared with: {}", candidate->name,
                            compiled->findings.empty() ? compiled->record.log
                                                       : compiled->findings.back().evidence));
  }
  if (on_host(contender)) {
    baseline.image = std::shared_ptr<const ModuleImage>(compiled, &compiled->image);
  } else {
    baseline.variants = device::variants_of(problem, std::move(compiled), options);
  }
  return baseline;
}

}  // namespace ouroboros::referee
