#include "judge/tolerance/roundings.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/maximum.h>

#include <algorithm>
#include <cmath>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/run.hpp"

namespace ouroboros::judge {
namespace {

constexpr int many_tries = 6;
constexpr std::int64_t many_tries_elements = 1 << 18;  ///< Larger cases have one.

/// Whether more than the last step was a rounding to the narrow type of the result: some error is
/// larger than a unit in the last place.
bool rounds_on_its_way(const at::Tensor& made, const at::Tensor& truth) {
  if (!is_narrow(made)) return false;
  const auto [epsilon, lowest_exponent] = format_of(*dtype_of(made.scalar_type()));
  const auto error = (made.to(at::kDouble) - truth).abs_();
  const auto step = truth.abs().clamp_min_(std::ldexp(1.0, lowest_exponent)).mul_(epsilon);
  return (error > step).any().item().toBool();
}

/// How far, relative, to inputs that round otherwise: eight steps of 16 bits, and still next to the
/// others in 8.
double next_to(DType dtype) noexcept { return std::min(8.0 * format_of(dtype).epsilon, 0x1p-4); }

/// What a case's products of matrices can have their factors rounded to; empty where they are in
/// more than 16 bits, or hidden in an oracle of the problem's own.
std::optional<at::ScalarType> narrow_factors(const Problem& problem, DType dtype) {
  if (!has_16_bits(dtype) || problem.oracle) return std::nullopt;
  return scalar_type(dtype);
}

}  // namespace

Roundings roundings_on_the_way(const Problem& problem, const Case& one) {
  Roundings found{std::vector<Tensors>(one.oracle.size()), Tensors(one.oracle.size())};
  Inside rounding;
  rounding.factors = narrow_factors(problem, one.spec.dtype);
  bool rounds = false;
  bool multiplies = false;
  const auto rounded =
      rounding.factors ? run_oracle(problem, one.spec, raise(one.inputs), rounding) : one.oracle;
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    rounds = rounds || rounds_on_its_way(one.reference[i], one.oracle[i]);
    multiplies = multiplies || !same_bits(rounded[i], one.oracle[i]);
  }
  if (!rounds && !multiplies) return found;
  const auto note = [&](const Tensors& made, const Tensors& truth) {
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (made[i].sizes() != one.oracle[i].sizes() || !is_narrow(one.reference[i])) continue;
      const auto narrow = made[i].to(one.reference[i].scalar_type());
      const auto error = narrow.to(at::kDouble).sub_(truth[i]);
      found.results[i].push_back(error + one.oracle[i]);
      const auto size = error.abs().nan_to_num_(0.0, 0.0);
      auto& largest = found.largest[i];
      largest = largest.defined() ? at::maximum(largest, size) : size;
    }
  };
  const int tries = input_elements(problem, one.spec.axes) <= many_tries_elements ? many_tries : 1;
  for (int time = 0; time < tries; ++time) {
    const auto key = random::key(~one.spec.seed, 2000 + static_cast<std::uint64_t>(time));
    if (multiplies) {
      rounding.seed = key;
      note(run_oracle(problem, one.spec, raise(one.inputs), rounding), one.oracle);
    }
    if (rounds) {
      auto inputs = judge::moved(one.inputs, next_to(one.spec.dtype), Moves::by_place, key);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        inputs[k] = inputs[k].to(one.inputs[k].scalar_type());
      }
      note(run_reference(problem, one.spec, inputs), run_oracle(problem, one.spec, raise(inputs)));
    }
  }
  return found;
}

}  // namespace ouroboros::judge
