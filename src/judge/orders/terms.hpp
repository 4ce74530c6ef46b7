#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ouroboros::judge {

/// Of how many terms the longest sums are that an operator on its way through the dispatcher makes
/// over several axes at once, or over one that a reference made of several: reductions,
/// normalisations, losses, convolutions. 1 for all others, whose sums are along one axis.
[[nodiscard]] std::int64_t terms_of(std::string_view name, const c10::FunctionSchema& schema,
                                    const torch::jit::Stack& stack);

/// Of how many terms the sums are that an average over windows, or an interpolation, makes; empty
/// for other operators.
[[nodiscard]] std::optional<std::int64_t> terms_of_window(std::string_view name,
                                                          const c10::FunctionSchema& schema,
                                                          const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
