#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/launch_plan.hpp"

/// Launch plans for tests: sound ones, random ones, and files put together by hand.
namespace ouroboros_test {

/// A plan that uses everything that the format has: every role, kind of launch and hole.
[[nodiscard]] ouroboros::LaunchPlan full_plan();

/// A well-formed plan that `random` makes up.
[[nodiscard]] ouroboros::LaunchPlan random_plan(std::mt19937_64& random);

/// A plan file with a right header around any document and any bytes of images.
[[nodiscard]] std::vector<std::byte> seal(std::string_view document,
                                          std::span<const std::byte> images);

/// The two parts of a plan file.
[[nodiscard]] nlohmann::ordered_json document_of(std::span<const std::byte> file);
[[nodiscard]] std::vector<std::byte> images_of(std::span<const std::byte> file);

/// With what sentence `LaunchPlan::parse` refuses the file; "accepted" when it does not.
[[nodiscard]] std::string refusal(std::span<const std::byte> file);

/// Bytes of a file in the repository.
[[nodiscard]] std::vector<std::byte> read_bytes(const std::string& path);

}  // namespace ouroboros_test
