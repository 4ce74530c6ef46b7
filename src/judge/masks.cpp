#include "judge/masks.hpp"

#include <algorithm>

#include "judge/random_tensors.hpp"
#include "judge/streams.hpp"
#include "judge/tensors.hpp"

namespace ouroboros::judge {
namespace {

// Streams within that of an input's choices, beside those of families.cpp.
enum Choice : std::uint64_t { halves = 5, places = 6, forms = 7, lengths = 8 };

std::uint64_t choice(const CaseSpec& spec, std::size_t input, Choice which) noexcept {
  return random::key(stream(spec, input, choices), which);
}

/// [batch, 1, keys] and [batch, keys, 1] have `keys`.
std::int64_t row_length(const at::Tensor& mask) {
  for (auto dim = mask.dim(); dim-- > 0;) {
    if (mask.size(dim) > 1) return mask.size(dim);
  }
  return 1;
}

void put_ones(const CaseSpec& spec, std::size_t input, const at::Tensor& bools) {
  const auto cols = row_length(bools);
  const auto rows = bools.view({-1, cols});
  const auto where = empty({rows.size(0), 1}, at::kLong, bools.device());
  random::fill_below(choice(spec, input, places), static_cast<std::uint64_t>(cols), where);
  rows.scatter_(1, where, 1);
}

/// Rows as batches have them, of several lengths and padded at either end, and others that are
/// holes all over.
void fill_rows(const CaseSpec& spec, std::size_t input, const at::Tensor& bools) {
  const auto cols = static_cast<std::uint64_t>(row_length(bools));
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

void draw_mask(const CaseSpec& spec, std::size_t input, const at::Tensor& into) {
  const bool plain = spec.family == "normal";
  const auto bools = empty(into.sizes().vec(), at::kBool, plain ? into.device() : at::kCPU);
  if (plain) {
    random::fill_below(stream(spec, input, values), 2, bools);
  } else {
    fill_rows(spec, input, bools);
  }
  // Ordinary rows have something whatever the reference does with them.
  const bool ordinary = plain && row_length(into) > 1;
  if (ordinary || wants_some(spec, input)) put_ones(spec, input, bools);
  into.copy_(bools);
}

bool wants_some(const CaseSpec& spec, std::size_t input) noexcept {
  return std::ranges::find(spec.masks, input) != spec.masks.end();
}

void leave_some(const CaseSpec& spec, std::size_t input, const at::Tensor& drawn) {
  if (drawn.scalar_type() == at::kBool && wants_some(spec, input)) put_ones(spec, input, drawn);
}

}  // namespace ouroboros::judge
