#include "judge/comparison/near_choices.hpp"

#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "judge/base/moved.hpp"
#include "judge/base/ranks.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/run.hpp"

namespace ouroboros::judge {
namespace {

/// Of how far computed numbers may be off, for what every operator on the way adds.
constexpr double share = 0.25;

}  // namespace

at::Tensor without_near_choices(const Problem& problem, const Case& one, std::size_t k,
                                const at::Tensor& got) {
  const auto& ranks = one.ranks[k];
  if (ranks.first || problem.oracle) return got;  // Nothing happens inside the problem's own.
  const auto dim = ranks.dim;
  const auto given = got.to(at::kLong).view(ranks.places.sizes());
  const auto last = ranks.numbers.size(dim) - 1;
  const auto chosen = at::zeros(ranks.numbers.sizes(), ranks.numbers.options().dtype(at::kBool))
                          .scatter_(dim, given.clamp(0, last), true);
  const auto raised = raise(one.inputs);
  auto result = given;
  for (const double way : {share, -share}) {
    std::vector<Ranks> found;
    Inside inside;
    inside.given = &raised;
    inside.single = one.spec.dtype != DType::float64;
    inside.ranks = &found;
    inside.favoured = &chosen;
    inside.favour = way * ranks.near;
    const auto outputs = run_oracle(problem, one.spec, raise(one.inputs), inside);
    const auto truth = outputs[k].view(given.sizes());
    for (auto& each : found) take_near_for_equal(each, ranks.near, inside.single);
    const auto other = ranks_of(outputs[k], found);
    const auto equal = other.numbers.defined() ? without_ties(given, other) : given;
    result = at::where(equal.eq(truth).all(dim, /*keepdim=*/true), ranks.places, result);
  }
  return result.to(got.scalar_type()).view(got.sizes());
}

}  // namespace ouroboros::judge
