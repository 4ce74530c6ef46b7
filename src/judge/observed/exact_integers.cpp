#include "judge/observed/exact_integers.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <ranges>

#include "judge/base/random.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

/// What integers are asked for here is a place.
bool indexes(std::string_view name) {
  return is_one_of(name, {"index", "index_select", "gather", "take", "take_along_dim", "embedding",
                          "scatter", "scatter_add", "index_add", "index_copy", "index_put"});
}

}  // namespace

ExactIntegers::ExactIntegers(const Problem& problem, const Tensors& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto type = inputs[i].scalar_type();
    if (problem.inputs[i].values != Values::real || (type != at::kInt && type != at::kLong)) {
      continue;
    }
    inputs_.push_back(i);
    integers_.note(inputs[i]);
  }
}

bool ExactIntegers::meet(std::string_view name, std::span<const c10::IValue> arguments) const {
  if (!indexes(name)) return integers_.any(arguments);
  return !arguments.empty() && integers_.any(arguments.first(1));
}

void ExactIntegers::note(const c10::IValue& result) {
  const auto one = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (tensor.is_floating_point() || tensor.is_complex()) {
      real_ = true;
    } else if (tensor.scalar_type() != at::kBool) {
      integers_.note(tensor);
    }
  };
  if (result.isTensor()) one(result.toTensor());
  if (result.isTensorList()) std::ranges::for_each(result.toTensorVector(), one);
  if (result.isScalar()) real_ = true;  // Of which nothing more is seen.
}

std::vector<std::size_t> ExactIntegers::inputs() const {
  return real_ ? std::vector<std::size_t>() : inputs_;
}

}  // namespace ouroboros::judge
