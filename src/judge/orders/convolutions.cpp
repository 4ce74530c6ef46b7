#include "judge/orders/convolutions.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>

#include <cstddef>
#include <cstdint>

#include "judge/orders/products.hpp"

namespace ouroboros::judge {
namespace {

/// Numbers in all windows of a convolution, which are copied: 256 MiB of them.
constexpr std::int64_t most_in_windows = std::int64_t{1} << 26;

/// How windows lie, along each dimension after batch and channels.
struct Sliding {
  Extents stride;
  Extents padding;
  Extents dilation;
  std::int64_t groups = 1;
};

std::optional<Sliding> sliding_of(const Given& given, std::size_t moving) {
  const auto along = [&](std::string_view name) {
    auto all = given.extents(name);
    if (all.size() == 1) all.resize(moving, all.front());
    return all;
  };
  Sliding how{along("stride"), along("padding"), along("dilation"), given.whole("groups", 1)};
  if (how.stride.size() != moving || how.padding.size() != moving ||
      how.dilation.size() != moving || how.groups < 1) {
    return std::nullopt;
  }
  return how;
}

/// The windows of `input`, each a row: (groups, batch * places, channels of a group * kernel).
std::optional<at::Tensor> windows_of(const at::Tensor& input, at::IntArrayRef kernel,
                                     const Sliding& how) {
  const auto moving = kernel.size();
  if (input.size(1) % how.groups != 0) return std::nullopt;
  Extents both;
  for (auto dim = moving; dim-- > 0;) both.insert(both.end(), 2, how.padding[dim]);
  auto windows = at::constant_pad_nd(input, both, 0);
  for (std::size_t i = 0; i < moving; ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const auto reach = how.dilation[i] * (kernel[i] - 1) + 1;
    if (windows.size(dim) < reach) return std::nullopt;
    windows = windows.unfold(dim, reach, how.stride[i]).slice(-1, 0, std::nullopt, how.dilation[i]);
  }
  if (windows.numel() > most_in_windows) return std::nullopt;
  // (batch, groups, channels of a group, places ..., places in a window ...)
  const auto grouped = windows.unflatten(1, Extents{how.groups, input.size(1) / how.groups});
  Extents dims{1, 0};
  for (std::size_t i = 0; i < moving; ++i) dims.push_back(static_cast<std::int64_t>(i) + 3);
  dims.push_back(2);
  for (std::size_t i = 0; i < moving; ++i) {
    dims.push_back(static_cast<std::int64_t>(i + moving) + 3);
  }
  return grouped.permute(dims).flatten(static_cast<std::int64_t>(moving) + 2).flatten(1, -2);
}

/// What lies in windows' places, (batch, channels, places ...): (groups, channels of a group,
/// batch * places).
at::Tensor by_channel(const at::Tensor& made, std::int64_t groups) {
  return made.transpose(0, 1).flatten(1).unflatten(0, Extents{groups, made.size(1) / groups});
}

std::optional<at::Tensor> slide(const at::Tensor& input, const at::Tensor& weight,
                                const Sliding& how, int order) {
  const auto groups = how.groups;
  if (input.size(1) != weight.size(1) * groups || weight.size(0) % groups != 0) {
    return std::nullopt;
  }
  const auto rows = windows_of(input, weight.sizes().slice(2), how);
  if (!rows) return std::nullopt;
  const auto of_group = weight.size(0) / groups;
  const auto columns = weight.reshape({groups, of_group, rows->size(2)}).transpose(1, 2);
  const auto made = product_in_order(*rows, columns, order);
  if (!made) return std::nullopt;
  // (groups, batch, places ..., channels of a group) in the order of the result.
  Extents parts{groups, input.size(0)};
  Extents back{1, 0, static_cast<std::int64_t>(weight.dim())};
  for (std::size_t i = 0; i < how.stride.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const auto reach = how.dilation[i] * (weight.size(dim) - 1);
    parts.push_back((input.size(dim) + 2 * how.padding[i] - reach - 1) / how.stride[i] + 1);
    back.push_back(dim);
  }
  parts.push_back(of_group);
  return made->view(parts).permute(back).flatten(1, 2);
}

/// What goes back the way that `slide` came, into `sizes`: the numbers lie `stride` apart, and what
/// slides over them is the weight back to front.
std::optional<at::Tensor> slide_back(const at::Tensor& made, const at::Tensor& weight,
                                     at::IntArrayRef sizes, const Sliding& how, int order) {
  const auto groups = how.groups;
  if (made.size(1) != weight.size(0) || weight.size(0) % groups != 0) return std::nullopt;
  auto apart = made;
  Extents around;
  Extents spatial;
  Sliding plain{{}, {}, how.dilation, groups};
  for (std::size_t i = 0; i < how.stride.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const auto between = how.stride[i] - 1;
    auto wide = apart.unsqueeze(dim + 1);
    Extents after(static_cast<std::size_t>(2 * (wide.dim() - dim - 1)), 0);
    after.back() = between;
    apart = at::constant_pad_nd(wide, after, 0).flatten(dim, dim + 1);
    const auto reach = how.dilation[i] * (weight.size(dim) - 1);
    const auto before = reach - how.padding[i];
    around.insert(around.begin(), {before, sizes[i] + reach - before - apart.size(dim)});
    spatial.push_back(dim);
    plain.stride.push_back(1);
    plain.padding.push_back(0);
  }
  const auto turned = weight.unflatten(0, Extents{groups, weight.size(0) / groups})
                          .transpose(1, 2)
                          .flatten(0, 1)
                          .flip(spatial);
  return slide(at::constant_pad_nd(apart, around, 0), turned, plain, order);
}

/// Of the weight by which `input` became what has the gradient `gradient`.
std::optional<at::Tensor> gradient_of_weight(const at::Tensor& gradient, const at::Tensor& input,
                                             const at::Tensor& weight, const Sliding& how,
                                             int order) {
  if (gradient.size(1) % how.groups != 0) return std::nullopt;
  const auto rows = windows_of(input, weight.sizes().slice(2), how);
  if (!rows) return std::nullopt;
  const auto made = product_in_order(by_channel(gradient, how.groups), *rows, order);
  return made ? std::optional(made->view(weight.sizes())) : std::nullopt;
}

bool may_slide(const at::Tensor& input, const at::Tensor& weight) {
  return input.defined() && weight.defined() && input.dim() == weight.dim() && input.dim() > 2;
}

}  // namespace

std::optional<at::Tensor> convolution_in_order(const Given& given) {
  const auto input = given.tensor("input");
  const auto weight = given.tensor("weight");
  const auto bias = given.tensor("bias");
  if (!may_slide(input, weight)) return std::nullopt;
  const auto how = sliding_of(given, static_cast<std::size_t>(input.dim() - 2));
  if (!how) return std::nullopt;
  std::optional<at::Tensor> made;
  if (given.flag("transposed")) {
    auto more = given.extents("output_padding");
    more.resize(how->stride.size(), more.empty() ? 0 : more.front());
    Extents sizes;
    for (std::size_t i = 0; i < how->stride.size(); ++i) {
      const auto dim = static_cast<std::int64_t>(i) + 2;
      sizes.push_back((input.size(dim) - 1) * how->stride[i] - 2 * how->padding[i] +
                      how->dilation[i] * (weight.size(dim) - 1) + more[i] + 1);
    }
    made = slide_back(input, weight, sizes, *how, given.order);
  } else {
    made = slide(input, weight, *how, given.order);
  }
  if (!made || !bias.defined()) return made;
  Extents channel(static_cast<std::size_t>(input.dim()), 1);
  channel[1] = made->size(1);
  return *made + bias.view(channel);
}

std::optional<std::vector<at::Tensor>> convolution_backward_in_order(const Given& given) {
  const auto gradient = given.tensor("grad_output");
  const auto input = given.tensor("input");
  const auto weight = given.tensor("weight");
  const auto* asked = given.value("output_mask");
  if (!may_slide(input, weight) || !may_slide(gradient, weight) || asked == nullptr) {
    return std::nullopt;
  }
  const auto how = sliding_of(given, static_cast<std::size_t>(input.dim() - 2));
  if (!how) return std::nullopt;
  const bool transposed = given.flag("transposed");
  const auto wanted = asked->toBoolList();
  std::vector<at::Tensor> made(3);
  const auto make = [&made](std::size_t which, const std::optional<at::Tensor>& one) {
    if (one) made[which] = *one;
    return one.has_value();
  };
  if (wanted[0] && !make(0, transposed ? slide(gradient, weight, *how, given.order)
                                       : slide_back(gradient, weight, input.sizes().slice(2), *how,
                                                    given.order))) {
    return std::nullopt;
  }
  const auto& slid = transposed ? gradient : input;
  if (wanted[1] && !make(1, gradient_of_weight(transposed ? input : gradient, slid, weight, *how,
                                               given.order))) {
    return std::nullopt;
  }
  const auto rows = by_channel(gradient, 1).squeeze(0);
  if (wanted[2] &&
      !make(2, product_in_order(rows, at::ones({rows.size(1)}, rows.options()), given.order))) {
    return std::nullopt;
  }
  return made;
}

}  // namespace ouroboros::judge
