#include "judge/comparison/last_places.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <cmath>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t fewest_told = 1024;
constexpr std::int64_t most_told = 1 << 20;  ///< More say no more.
constexpr double one_unit = 1.0 + 0x1p-4;

}  // namespace

std::optional<LastPlaces> last_places(const at::Tensor& got, const at::Tensor& reference,
                                      const at::Tensor& truth, const at::Tensor& allowed) {
  if (!is_narrow(reference) || truth.numel() < fewest_told) return std::nullopt;
  const auto count = std::min(truth.numel(), most_told);
  const auto part = [count](const at::Tensor& tensor) {
    return tensor.view(-1).narrow(0, 0, count).to(at::kDouble);
  };
  const auto format = format_of(*dtype_of(reference.scalar_type()));
  const auto expected = part(truth);
  const auto made = part(reference);
  const auto rounded = expected.to(reference.scalar_type()).to(at::kDouble);
  const auto normal = std::ldexp(1.0, format.lowest_exponent + 1);
  // Mantissas are in [1/2, 1).
  const auto units =
      at::ldexp(at::ones_like(expected), std::get<1>(at::frexp(expected)) - 1).mul_(format.epsilon);
  const auto told = expected.abs()
                        .ge(normal)
                        .logical_and_(rounded.isfinite())
                        .logical_and_(made.isfinite())
                        .logical_and_(part(allowed).le(units * one_unit));
  if (told.sum().item().toLong() < fewest_told) return std::nullopt;
  const auto off = [&](const at::Tensor& all) { return (all - expected).div_(units); };
  return LastPlaces{told, expected, off(part(got)), off(made), off(rounded)};
}

}  // namespace ouroboros::judge
