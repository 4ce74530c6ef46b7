#include "judge/marks.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "judge/arguments.hpp"
#include "judge/run.hpp"
#include "judge/tensors.hpp"

namespace ouroboros::judge {
namespace {

/// Of a reference that has more, those that it meets first.
constexpr std::size_t most_marks = 64;

/// Has neighbours in int64, and is a float64.
constexpr double largest = 0x1p53;

bool is_whole(const at::Tensor& tensor) {
  return tensor.defined() && c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

bool has_integers(const Problem& problem, DType dtype) {
  return std::any_of(problem.inputs.begin(), problem.inputs.end(), [&](const Input& input) {
    const auto own = dtype_of(input, dtype);
    return !is_floating(own) && own != DType::boolean;
  });
}

}  // namespace

void note_marks(std::string_view name, const c10::FunctionSchema& schema,
                const torch::jit::Stack& stack, std::set<std::int64_t>& marks) {
  const auto note = [&](std::string_view of) {
    const auto* value = argument(of, schema, stack);
    if (value == nullptr || marks.size() >= most_marks) return;
    const auto number = constant(*value);
    if (number && std::abs(*number) <= largest && std::trunc(*number) == *number) {
      marks.insert(static_cast<std::int64_t>(*number));
    }
  };
  note("ignore_index");
  note("padding_idx");
  const auto* self = argument("self", schema, stack);
  if (self == nullptr || !self->isTensor() || !is_whole(self->toTensor())) return;
  if (is_one_of(name, {"eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal",
                       "greater", "greater_equal"})) {
    note("other");
  } else if (is_one_of(name, {"clamp", "clamp_min", "clamp_max", "clip"})) {
    note("min");
    note("max");
  }
}

std::vector<std::int64_t> marks_of(const Problem& problem, DType dtype) {
  if (!has_integers(problem, dtype)) return {};
  const at::NoGradGuard no_grad;
  std::set<std::int64_t> marks;
  Inside inside;
  inside.marks = &marks;
  try {
    static_cast<void>(
        promoted(problem.reference, raise(plain_case(problem, dtype).inputs), at::kDouble, inside));
  } catch (const ReferenceFault&) {
    return {};  // Whoever draws cases says what it is.
  }
  return {marks.begin(), marks.end()};
}

}  // namespace ouroboros::judge
