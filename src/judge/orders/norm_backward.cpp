#include "judge/orders/norm_backward.hpp"

#include <ATen/TensorOperators.h>

#include <cstddef>
#include <cstdint>
#include <numeric>

namespace ouroboros::judge {
namespace {

Extents range(std::int64_t first, std::int64_t end) {
  Extents out(static_cast<std::size_t>(end - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

NormBackward of_layer_norm(const Given& given) {
  const auto input = given.tensor("input");
  const auto rows =
      input.dim() - static_cast<std::int64_t>(given.extents("normalized_shape").size());
  return {given.tensor("grad_out"),
          input,
          given.tensor("weight"),
          given.tensor("mean"),
          given.tensor("rstd"),
          range(rows, input.dim()),
          range(0, rows)};
}

NormBackward of_group_norm(const Given& given) {
  const auto n = given.whole("N", 1);
  const auto groups = given.whole("group", 1);
  const auto channels = given.whole("C", 1) / groups;
  const Extents shape{n, groups, channels, given.whole("HxW", 1)};
  const Extents of_rows{n, groups, 1, 1};
  const auto weight = given.tensor("weight");
  return {given.tensor("grad_out").reshape(shape),
          given.tensor("input").reshape(shape),
          weight.defined() ? weight.view({1, groups, channels, 1}) : weight,
          given.tensor("mean").view(of_rows),
          given.tensor("rstd").view(of_rows),
          {2, 3},
          {0, 3}};
}

NormBackward of_batch_norm(const Given& given) {
  const auto input = given.tensor("input");
  Extents of_channels(static_cast<std::size_t>(input.dim()), 1);
  of_channels[1] = input.size(1);
  auto dims = range(1, input.dim());
  dims[0] = 0;
  const auto weight = given.tensor("weight");
  return {given.tensor("grad_out"),
          input,
          weight.defined() ? weight.view(of_channels) : weight,
          given.tensor("save_mean").view(of_channels),
          given.tensor("save_invstd").view(of_channels),
          dims,
          dims};
}

}  // namespace

at::Tensor NormBackward::weighted() const {
  return weight.defined() ? gradient * weight : gradient;
}

std::optional<NormBackward> norm_backward_of(std::string_view name, const Given& given) {
  if (name == "native_layer_norm_backward") return of_layer_norm(given);
  if (name == "native_group_norm_backward") return of_group_norm(given);
  if (name == "native_batch_norm_backward" && given.flag("train")) return of_batch_norm(given);
  return std::nullopt;
}

}  // namespace ouroboros::judge
