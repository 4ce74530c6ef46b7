#include "judge/comparison/short_results.hpp"

#include <ATen/TensorOperators.h>

namespace ouroboros::judge {
namespace {

constexpr std::int64_t fewest = 256;
constexpr std::int64_t low_bits = (1 << 12) - 1;

at::Tensor is_long(const at::Tensor& tensor) {
  return tensor.view(at::kInt).bitwise_and(at::Scalar(low_bits)).ne(0);
}

}  // namespace

std::int64_t count_short(const at::Tensor& got, const at::Tensor& reference,
                         const at::Tensor& oracle) {
  if (reference.scalar_type() != at::kFloat || reference.numel() < fewest) return 0;
  // Who comes to a sum of shares that is exactly one is nearer to it than a reference that does
  // not.
  const auto told = is_long(reference).logical_and_(is_long(oracle.to(at::kFloat)));
  const auto count = told.sum().item().toLong();
  if (count < fewest || is_long(got).logical_and_(told).any().item().toBool()) return 0;
  return count;
}

}  // namespace ouroboros::judge
