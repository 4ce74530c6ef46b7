#pragma once

#include "ouroboros/tracer.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// Whether a dry trace ended for want of what a live one has.
[[nodiscard]] bool wants_device(const TraceRefusal& refusal);

/// What a refusal of the dry trace says of the candidate. `why_not_live` says why nobody looked
/// further.
[[nodiscard]] Misconduct dry_misconduct(const TraceRefusal& refusal, bool library_kernels,
                                        const std::string& why_not_live);

/// What a refusal of the live trace says of the candidate.
[[nodiscard]] Misconduct live_misconduct(const TraceRefusal& refusal);

}  // namespace ouroboros::referee::device
