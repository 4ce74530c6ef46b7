#include "judge/tolerance/large_products.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include <array>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/run.hpp"

namespace ouroboros::judge {
namespace {

constexpr double large = 0x1p16;  ///< A rounding of it is 1/256; exp() of that is in proportion.
constexpr double some_roundings = 0x1p-19;  ///< Thirty-two, as plain loops make over 256 terms.
constexpr int tries = 6;
constexpr std::int64_t large_inputs = 1 << 18;  ///< Inputs of more have one.
/// Of products that many of a row share: where each moves by itself one of them wins, but in
/// float32, scaled and with something added, all may be equal.
constexpr std::array<int, 3> bits = {19, 21, 23};

}  // namespace

bool is_large_product(double size) noexcept { return size > large; }

Tensors errors_of_large_products(const Problem& problem, const Case& one) {
  const auto raised = raise(one.inputs);
  Tensors largest(one.oracle.size());
  const auto note = [&](const Tensors& made) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!one.oracle[i].is_floating_point() || made[i].sizes() != one.oracle[i].sizes()) continue;
      const auto error = (made[i] - one.oracle[i]).abs_().nan_to_num_(0.0, 0.0);
      largest[i] = largest[i].defined() ? at::maximum(largest[i], error) : error;
    }
  };
  for (const int kept : bits) {
    Inside inside;
    inside.bits_of_products = kept;
    note(run_oracle(problem, one.spec, raised, inside));
  }
  const int times = input_elements(problem, one.spec.axes) <= large_inputs ? tries : 1;
  for (int time = 0; time < 2 * times; ++time) {
    // Up and down: what exp() makes of the one may be a thousand times the other.
    const double by = time % 2 == 0 ? some_roundings : -some_roundings;
    const auto key = random::key(~one.spec.seed, 4000 + static_cast<std::uint64_t>(time / 2));
    Inside inside;
    inside.given = &raised;
    note(run_oracle(problem, one.spec, moved(one.inputs, by, Moves::by_place, key), inside));
  }
  return largest;
}

}  // namespace ouroboros::judge
