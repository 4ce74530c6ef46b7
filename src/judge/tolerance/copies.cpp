#include "judge/tolerance/copies.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "judge/base/tensors.hpp"
#include "judge/tolerance/tolerance.hpp"

namespace ouroboros::judge {
namespace {

/// Where two tensors have the same number, or none.
at::Tensor alike(const at::Tensor& a, const at::Tensor& b) {
  return a.eq(b).logical_or_(at::isnan(a).logical_and_(at::isnan(b)));
}

bool everywhere(const at::Tensor& truths) { return truths.all().item().toBool(); }

/// Sizes of the real numbers among tensors, in ascending order.
at::Tensor sorted_sizes(const Tensors& tensors) {
  Tensors all;
  for (const auto& tensor : tensors) {
    if (tensor.is_floating_point()) all.push_back(tensor.view(-1).abs());
  }
  return all.empty() ? at::Tensor() : std::get<0>(at::cat(all).sort());
}

}  // namespace

bool may_copy(const Case& one, std::size_t output) {
  const auto& oracle = one.oracle[output];
  return oracle.is_floating_point() &&
         everywhere(alike(one.reference[output].to(at::kDouble), oracle));
}

Copies copies_of(const Case& one, std::size_t output, const at::Tensor& moved,
                 const Tensors& moved_inputs) {
  const auto stayed = alike(moved, one.oracle[output]);  // Constants too: what a mask puts there.
  if (everywhere(stayed)) return Copies::perhaps;
  const auto given = sorted_sizes(moved_inputs);
  if (!given.defined() || given.numel() == 0) return Copies::no;
  const auto sizes = moved.abs();
  const auto place = at::searchsorted(given, sizes).clamp_max_(given.numel() - 1);
  return everywhere(stayed.logical_or(given.take(place).eq(sizes))) ? Copies::yes : Copies::no;
}

void hold_to_copies(std::vector<Case>& cases) {
  if (cases.empty()) return;
  for (std::size_t k = 0; k < cases.front().copies.size(); ++k) {
    const auto is = [k](Copies what) {
      return [k, what](const Case& one) { return one.copies[k] == what; };
    };
    if (std::ranges::any_of(cases, is(Copies::no))) continue;
    if (std::ranges::none_of(cases, is(Copies::yes))) continue;
    for (auto& one : cases) {
      one.copies[k] = Copies::yes;
      // More than the rule has is what close calls need: there another number is as right.
      const auto by_rule = one.allowed[k].le(one.tolerances[k]->allowed(one.oracle[k]));
      const auto output = *dtype_of(one.reference[k].scalar_type());
      const double least = smallest_of(output, one.spec.dtype);
      one.allowed[k] = at::where(by_rule, one.allowed[k].clamp_max(least), one.allowed[k]);
    }
  }
}

}  // namespace ouroboros::judge
