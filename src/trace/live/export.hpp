#pragma once

#include <string>

#include "trace/live/driver.hpp"

namespace ouroboros::live {

/// A captured graph as JSON: its launches in an order that its edges allow, with raw parameters,
/// and why it cannot be a plan, if it cannot. python/ouroboros/trace/live.py reads it.
[[nodiscard]] std::string export_graph(Handle graph);

}  // namespace ouroboros::live
