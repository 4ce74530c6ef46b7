#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/values/layout.hpp"

/// Families whose rows are of other families: "patchwork" all of them, "scattered" a few.
namespace ouroboros::judge {

/// What the rows of a mixture look like: the first eight are what the shortest patchwork has, or
/// the last eight.
inline constexpr std::array<std::string_view, 16> patches = {
    "uniform", "x64", "large_mean", "spike", "equal", "tiny",      "mixed", "sorted_x64",
    "bytes",   "x64", "large_mean", "spike", "equal", "far_below", "mixed", "odd_sign"};

/// Whether rows get families of their own: all of them, or a few.
[[nodiscard]] bool is_mixture(const CaseSpec& spec) noexcept;

/// What has one dimension has no rows: mixtures take so many numbers for one.
[[nodiscard]] Layout patched(const CaseSpec& spec, const at::Tensor& tensor) noexcept;

/// Which of the patches a row of "patchwork" is.
[[nodiscard]] std::size_t patch_of(const CaseSpec& spec, std::size_t input,
                                   std::size_t row) noexcept;

/// The case's, or in "patchwork" the row's own.
[[nodiscard]] std::string_view family_of_row(const CaseSpec& spec, std::size_t input,
                                             std::size_t row) noexcept;

}  // namespace ouroboros::judge
