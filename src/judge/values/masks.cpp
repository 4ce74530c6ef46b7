#include "judge/values/masks.hpp"

#include <algorithm>
#include <utility>

#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

// Streams within that of an input's choices, beside those of integers.cpp and positions.cpp.
enum Choice : std::uint64_t { halves = 5, places = 6, forms = 7, lengths = 8 };

std::uint64_t choice(const CaseSpec& spec, std::size_t input, Choice which) noexcept {
  return random::key(stream(spec, input, choices), which);
}

/// In each row along a dimension.
void put_ones(const CaseSpec& spec, const Mask& mask, const at::Tensor& bools) {
  const auto dim = static_cast<std::int64_t>(mask.dim);
  auto shape = bools.sizes().vec();
  const auto extent = static_cast<std::uint64_t>(std::exchange(shape[mask.dim], 1));
  const auto where = empty(shape, at::kLong, bools.device());
  random::fill_below(random::key(choice(spec, mask.input, places), mask.dim), extent, where);
  bools.scatter_(dim, where, 1);
}

void put_wanted(const CaseSpec& spec, std::size_t input, const at::Tensor& bools) {
  for (const auto& mask : spec.masks) {
    if (mask.input == input && bools.dim() > 0) put_ones(spec, mask, bools);
  }
}

/// One in 32 is not as the others are, and one at least.
void fill_nearly(const CaseSpec& spec, std::size_t input, bool most, const at::Tensor& bools) {
  const auto count = static_cast<std::uint64_t>(bools.numel());
  auto* out = bools.mutable_data_ptr<bool>();
  for (std::uint64_t i = 0; i < count; ++i) {
    out[i] = (random::below(stream(spec, input, values), i, 32) != 0) == most;
  }
  if (count > 0) out[random::below(choice(spec, input, places), 0, count)] = !most;
}

/// What is not after its own place along the dimension before the last, as of a causal attention.
void fill_triangles(std::uint64_t rows, std::uint64_t cols, const at::Tensor& bools) {
  const auto count = static_cast<std::uint64_t>(bools.numel());
  auto* out = bools.mutable_data_ptr<bool>();
  for (std::uint64_t i = 0; i < count; ++i) out[i] = i % cols * rows <= i / cols % rows * cols;
}

/// Rows as batches have them, of several lengths and padded at either end, and others that are
/// holes all over.
void fill_rows(const CaseSpec& spec, std::size_t input, std::uint64_t cols,
               const at::Tensor& bools) {
  const auto count = static_cast<std::uint64_t>(bools.numel());
  const auto all_alike = spec.family == "equal";
  auto* out = bools.mutable_data_ptr<bool>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto row = all_alike ? 0 : i / cols;
    const auto col = i % cols;
    const auto length = random::below(choice(spec, input, lengths), row, cols + 1);
    switch (random::below(choice(spec, input, forms), row, 4)) {
      case 0:
        out[i] = col < length;
        break;
      case 1:
        out[i] = col >= length;
        break;
      default:
        out[i] = random::below(stream(spec, input, values), row * cols + col, 2) != 0;
    }
  }
}

}  // namespace

bool is_drawn_as_mask(const Problem& problem, const CaseSpec& spec, std::size_t input) {
  const auto& one = problem.inputs[input];
  if (one.values == Values::mask) return true;
  if (one.values != Values::real || one.parameter) return false;
  const auto dtype = dtype_of(one, spec.dtype);
  if (dtype == DType::boolean) return spec.family == "normal";
  if (!is_floating(dtype) || !wants_some(spec, input)) return false;
  return spec.family == "patchwork" ||
         (spec.family == "uniform" && random::bits(choice(spec, input, halves), 0) % 2 == 0);
}

std::size_t row_dimension(const Input& input) noexcept {
  const auto is_broadcast = [](const Dim& dim) { return dim.axis.empty() && dim.scale == 1; };
  for (auto dim = input.shape.size(); dim-- > 0;) {
    if (!is_broadcast(input.shape[dim])) return dim;
  }
  return input.shape.empty() ? 0 : input.shape.size() - 1;
}

void draw_mask(const Problem& problem, const CaseSpec& spec, std::size_t input,
               const at::Tensor& into) {
  const bool plain = spec.family == "normal";
  const auto dim = row_dimension(problem.inputs[input]);
  const auto cols = into.dim() == 0 ? 1 : into.size(static_cast<std::int64_t>(dim));
  const auto bools = empty(into.sizes().vec(), at::kBool, plain ? into.device() : at::kCPU);
  if (plain) {
    random::fill_below(stream(spec, input, values), 2, bools);
  } else if (spec.family == "x64" || spec.family == "odd_sign") {
    fill_nearly(spec, input, spec.family == "x64", bools);
  } else if (spec.family == "sorted" && into.dim() > 1 &&
             dim + 1 == problem.inputs[input].shape.size()) {
    fill_triangles(static_cast<std::uint64_t>(into.size(-2)), static_cast<std::uint64_t>(cols),
                   bools);
  } else {
    fill_rows(spec, input, static_cast<std::uint64_t>(cols), bools);
  }
  // Ordinary rows have something whatever the reference does with them.
  if (plain && cols > 1) put_ones(spec, {input, dim}, bools);
  put_wanted(spec, input, bools);
  into.copy_(bools);
}

bool says_what_is_there(const Input& input) noexcept {
  const bool bools = input.values == Values::real && input.dtype == DType::boolean;
  return bools || input.values == Values::mask || input.values == Values::length ||
         (input.values == Values::index && input.padding.has_value());
}

bool wants_some(const CaseSpec& spec, std::size_t input) noexcept {
  return std::ranges::find(spec.masks, input, &Mask::input) != spec.masks.end();
}

void leave_some(const CaseSpec& spec, std::size_t input, const at::Tensor& drawn) {
  if (drawn.scalar_type() == at::kBool) put_wanted(spec, input, drawn);
}

}  // namespace ouroboros::judge
