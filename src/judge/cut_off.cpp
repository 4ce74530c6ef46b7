#include "judge/cut_off.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <cmath>

#include "judge/tensors.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t fewest = 1024;
constexpr std::int64_t most = 1 << 20;  ///< More say no more.

// Rounding is off by 0.29 units (1 / sqrt 12) and by nothing on average, cutting off by half a unit
// on average. Who has a factor that is wrong by 0.4 units is off by more than one somewhere.
constexpr double least_spread = 0.2;
constexpr double most_spread = 0.35;
constexpr double one_unit = 1.0 + 0x1p-4;
constexpr double mean_of_rounding = 0.1;
constexpr double mean_of_cutting = 0.4;
constexpr double most_of_rounding = 0.55;

}  // namespace

std::optional<CutOff> cut_off(const at::Tensor& got, const at::Tensor& reference,
                              const at::Tensor& truth, const at::Tensor& allowed) {
  if (!is_narrow(reference) || truth.numel() < fewest) return std::nullopt;
  const auto count = std::min(truth.numel(), most);
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
  const auto chosen = expected.masked_select(told);
  if (chosen.numel() < fewest) return std::nullopt;
  const auto signs = chosen.sign();
  const auto off = [&](const at::Tensor& all) {
    return all.masked_select(told).sub_(chosen).div_(units.masked_select(told));
  };
  const auto mean = [](const at::Tensor& errors) { return errors.mean().item().toDouble(); };
  const auto by_reference = off(made);
  const double spread = by_reference.std().item().toDouble();
  if (spread < least_spread || spread > most_spread) return std::nullopt;
  const auto by_candidate = off(part(got));
  for (const bool of_sizes : {true, false}) {
    const auto seen = [&](const at::Tensor& errors) { return of_sizes ? errors * signs : errors; };
    const double average = mean(seen(by_candidate));
    if (std::fabs(mean(seen(by_reference))) > mean_of_rounding ||
        std::fabs(average) < mean_of_cutting) {
      continue;
    }
    return CutOff{average, of_sizes, by_candidate.abs().gt(most_of_rounding).sum().item().toLong()};
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
