#include "judge/tolerance/longest_sum.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/run.hpp"

namespace ouroboros::judge {
namespace {

/// Whether every element of the outputs is a function of the element of each input that has its
/// place, and of parameters: whether the others stay as they are, to the last bit, when half of all
/// elements change.
bool is_elementwise(const Problem& problem, const Case& one) {
  auto inputs = raise(one.inputs);
  const auto count = one.oracle.front().numel();
  const auto key = random::key(~one.spec.seed, 3000);
  const auto kept = random::bits(key, 0, count, place_of(one.inputs)).lt(0);
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (problem.inputs[i].parameter) continue;
    changed = true;
    if (!inputs[i].is_floating_point() || inputs[i].numel() != count) return false;
    const auto flat = inputs[i].view(-1);
    const bool mask = problem.inputs[i].values == Values::mask;
    flat.copy_(at::where(kept, flat, mask ? 1.0 - flat : flat * 1.5 + 0.25));
  }
  if (!changed) return false;
  const auto outputs = run_oracle(problem, one.spec, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].numel() != count || !outputs[i].is_floating_point()) return false;
    const auto same =
        outputs[i].view(-1).eq(one.oracle[i].view(-1)).logical_or_(kept.logical_not());
    if (!same.all().item().toBool()) return false;
  }
  return true;
}

/// Nobody adds more terms than this one after the other: who has more of them adds in parts. Of a
/// mean over millions a bound that grew with all of them would say nothing.
constexpr std::int64_t most_in_a_row = 4096;

}  // namespace

std::int64_t longest_sum(const Problem& problem, const Case& one, std::int64_t most_terms,
                         std::int64_t longest_added) {
  auto longest = most_terms;
  if (!place_of(one.inputs).is_cpu() && !problem.oracle) {
    longest = std::max(longest, longest_added);
  } else {
    for (const auto& input : one.inputs) {
      for (const auto extent : input.sizes()) longest = std::max(longest, extent);
    }
  }
  const auto in_a_row = std::min(longest, most_in_a_row);
  return longest == 1 || is_elementwise(problem, one) ? 1 : in_a_row;
}

}  // namespace ouroboros::judge
