#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "judge/observed/dot_products.hpp"
#include "judge/runs/pass.hpp"

/// What an operator is given, before it is called: factors that others round, terms that they add
/// up in an order of their own.
namespace ouroboros::judge {

/// The nearest number of so many bits, by Veltkamp's splitting (Dekker, "A floating-point technique
/// for extending the available precision", 1971).
[[nodiscard]] at::Tensor of_few_bits(const at::Tensor& tensor, int bits);

[[nodiscard]] at::Tensor as_factor(Pass& pass, const at::Tensor& tensor);

/// What is taken from each row others make of a result that was rounded likewise.
void move_sums(Pass& pass, const at::Tensor& result, const DotProducts::Sums& sums);

/// Whether the operator adds numbers up, which everyone does in an order of their own.
[[nodiscard]] bool adds(std::string_view name);

/// Terms of a sum with moves of their own. Whole numbers are counted: the inputs moved, and so did
/// all that came of them.
[[nodiscard]] at::Tensor as_term(Pass& pass, const at::Tensor& tensor);

/// Whole numbers too large for float32 to add up exactly, moved as real inputs are.
[[nodiscard]] at::Tensor as_large_whole(Pass& pass, const at::Tensor& tensor);

}  // namespace ouroboros::judge
