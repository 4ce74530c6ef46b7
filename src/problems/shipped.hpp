#pragma once

// Keeps TensorOperators.h from pulling in the header of every operator.
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#endif
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "ouroboros/problem.hpp"

/// The problems that ship with the library, one maker each, and what their references share.
namespace ouroboros::problems::shipped {

Problem softmax();
Problem log_softmax();
Problem rmsnorm();
Problem layernorm();
Problem add_rmsnorm();
Problem add_rmsnorm_gelu();
Problem layernorm_silu();
Problem swiglu();
Problem geglu();
Problem rope();
Problem cross_entropy();
Problem cumsum();

/// A problem over `axes`, swept in float32, float64 and float16, with everything else unset.
/// Every axis may be as small as 1, and the first (the rows) may be empty.
Problem over(const std::vector<std::string>& axes);

/// An input of the case's dtype whose extents are axes.
Input tensor(std::string name, const std::vector<std::string>& axes);

/// As `tensor`, but a weight.
Input weight(std::string name, const std::vector<std::string>& axes);

/// `x` in the type that references compute in: float32, or float64 for float64.
/// Outputs are rounded to the dtype of the case once, at the end.
at::Tensor widened(const at::Tensor& x);

}  // namespace ouroboros::problems::shipped
