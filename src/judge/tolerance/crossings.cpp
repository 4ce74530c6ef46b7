#include "judge/tolerance/crossings.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include <algorithm>
#include <cmath>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/run.hpp"
#include "judge/tolerance/tolerance.hpp"

namespace ouroboros::judge {
namespace {

constexpr double far = 0x1p-6;

/// As plain loops in float32 are allowed.
constexpr double roundings = 8.0;

/// Pairs of moves, there and back: one of each two takes what is next to zero across.
constexpr int pairs = 2;
constexpr std::int64_t many_elements = 1 << 18;  ///< Inputs of more have one.

/// Integers have close calls of their own.
bool is_held(const at::Tensor& oracle) { return oracle.scalar_type() == at::kDouble; }

bool has_zeros(const at::Tensor& oracle) {
  return is_held(oracle) && oracle.eq(0.0).any().item().toBool();
}

/// How large what is zero becomes where the inputs move by `by`; undefined for integers. What is
/// asked of inputs themselves, whether one is -999, is answered as if they had not moved.
Tensors crossings(const Problem& problem, const Case& one, double by, std::uint64_t time) {
  const auto key = random::key(~one.spec.seed, 3000 + time);
  const auto given = raise(one.inputs);
  Inside inside;
  inside.given = &given;
  inside.most_calls = most_calls(one);
  auto outputs = run_moved(problem, one.spec, moved(one.inputs, by, Moves::by_place, key), inside)
                     .value_or(Tensors());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& oracle = one.oracle[i];
    if (is_held(oracle) && outputs[i].sizes() == oracle.sizes()) {
      outputs[i].abs_().masked_fill_(oracle.ne(0.0), 0.0).nan_to_num_(0.0, 0.0);
    } else {
      outputs[i] = at::Tensor();
    }
  }
  return outputs;
}

}  // namespace

bool may_cross(const Problem& problem, const Case& one) {
  // Where something is compared, close calls say as much.
  if (one.edges || std::ranges::none_of(one.oracle, has_zeros)) return false;
  return std::ranges::any_of(crossings(problem, one, far, pairs), [](const at::Tensor& found) {
    return found.defined() && found.any().item().toBool();
  });
}

void allow_crossings(const Problem& problem, Case& one) {
  if (one.crossing_terms == 0) return;
  const double by =
      roundings * roundoff_of(one.spec.dtype) * std::sqrt(static_cast<double>(one.crossing_terms));
  const std::uint64_t count = input_elements(problem, one.spec.axes) <= many_elements ? pairs : 1;
  for (std::uint64_t time = 0; time < count; ++time) {
    for (const double way : {by, -by}) {
      const auto found = crossings(problem, one, way, time);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].defined()) one.allowed[i] = at::maximum(one.allowed[i], found[i]);
      }
    }
  }
}

}  // namespace ouroboros::judge
