#pragma once

#include <vector>

#include "ouroboros/tracer.hpp"
#include "trace/frames.hpp"

namespace ouroboros::trace {

/// So many times its own time a request gets at most for what it waits for a processor: a machine
/// that is busy with others is no fault of the candidate's.
inline constexpr double waiting_share = 2.0;

/// How long a request may take, without what it waits for a processor.
[[nodiscard]] double seconds_of(const TraceRequest& request, const Limits& limits);

/// What a zygote is told of `request`, without an id.
[[nodiscard]] Frame frame_of(const TraceRequest& request, const Limits& limits);

/// What its reply says of each signature of `request`. The supervisor's document is trusted;
/// what the candidate's process returned, blob 0 and those it refers to, is hostile.
/// Throws `Error{sandbox_unavailable}` where the candidate never ran.
[[nodiscard]] std::vector<TraceResult> results_of(Frame reply, const TraceRequest& request,
                                                  const Isolation& zygote);

}  // namespace ouroboros::trace
