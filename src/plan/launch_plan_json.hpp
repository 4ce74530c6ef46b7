#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/launch_plan.hpp"

/// A plan's document: everything but the bytes of its images.
namespace ouroboros::launch_plan {

/// The document as one line, keys in the order of docs/plan.md.
[[nodiscard]] std::string write_document(const LaunchPlan& plan);

struct Document {
  LaunchPlan plan;                         ///< Its images have no bytes yet.
  std::vector<std::uint64_t> image_bytes;  ///< As many as the plan has images.
};

/// Checks types, keys and the range of each value by itself; what values say about one another is
/// `require_structure`'s. Hostile text costs time and memory in proportion to its length.
[[nodiscard]] Document read_document(std::string_view text);

}  // namespace ouroboros::launch_plan
