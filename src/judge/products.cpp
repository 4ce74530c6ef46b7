#include "judge/products.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>

#include "judge/arguments.hpp"
#include "judge/random.hpp"
#include "judge/run.hpp"
#include "judge/walk.hpp"

namespace ouroboros::judge {
namespace {

/// Where the first of two factors stands among the operator's arguments, the second behind it.
std::optional<std::size_t> place_of_factors(std::string_view name) {
  if (is_one_of(name, {"mm", "bmm", "mv", "dot"})) return 0;
  if (is_one_of(name, {"addmm", "baddbmm", "addbmm", "addmv"})) return 1;
  return std::nullopt;
}

at::Tensor places_of(Walk walk, std::int64_t count) {
  auto places = at::empty({count}, at::kLong);
  auto* next = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0, at = walk.first; i < count; ++i, at = (at + walk.step) % count) {
    next[i] = at;
  }
  return places;
}

at::Tensor off_by_roundings(const at::Tensor& factor, int order) {
  if (factor.scalar_type() != at::kFloat) return factor;
  constexpr double rounding = 0x1p-24;
  const auto key = random::key(0, static_cast<std::uint64_t>(order));
  return moved({factor.contiguous()}, rounding, Moves::by_place, key).front().to(at::kFloat);
}

}  // namespace

bool vary_product(std::string_view name, const c10::FunctionSchema& schema,
                  torch::jit::Stack& stack, int order) {
  const auto place = place_of_factors(name);
  if (!place) return false;
  auto* factors = &stack[stack.size() - schema.arguments().size() + *place];
  if (!factors[0].isTensor() || !factors[1].isTensor()) return false;
  const auto& first = factors[0].toTensor();
  const auto& second = factors[1].toTensor();
  const auto along = std::max<std::int64_t>(second.dim() - 2, 0);
  // What does not fit together is for the operator to refuse.
  if (first.dim() == 0 || second.dim() == 0 || first.size(-1) != second.size(along)) return false;
  if (order == 0) return true;
  const auto count = first.size(-1);
  const auto places = places_of(walk_of(order, count), count).to(first.device());
  auto varied = off_by_roundings(first.index_select(-1, places), order);
  factors[1] = second.index_select(along, places);
  factors[0] = std::move(varied);
  return true;
}

}  // namespace ouroboros::judge
