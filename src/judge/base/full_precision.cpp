#include "judge/base/full_precision.hpp"

#include <ATen/ops/_convolution.h>
#include <torch/library.h>

#include <optional>
#include <utility>

namespace ouroboros::judge {
namespace {

/// LibTorch has it for tests of interception, as the one that promote.cpp borrows.
constexpr auto interception = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                       c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed,
                       c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  const c10::impl::ExcludeDispatchKeyGuard outside(interception);
  const auto& context = at::globalContext();
  constexpr bool allow_tf32 = false;
  return at::_convolution_symint(input, weight, bias, stride, padding, dilation, transposed,
                                 output_padding, std::move(groups), context.benchmarkCuDNN(),
                                 context.deterministicCuDNN(), context.userEnabledCuDNN(),
                                 allow_tf32);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericWrapper, m) { m.impl("convolution", &convolution); }

FullPrecision::FullPrecision() : convolutions_(interception) {}

}  // namespace ouroboros::judge
