#include "judge/runs/marks.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <exception>

#include "judge/base/declared.hpp"
#include "judge/base/moved.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge/values/masks.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

/// Whether inputs say what is there, and the reference makes numbers of what it gets where they say
/// that nothing is. It may raise there: a maximum over none does.
bool answers_nothing(const Problem& problem, const Tensors& inputs) {
  auto of_nothing = inputs;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = problem.inputs[i];
    if (!says_what_is_there(input)) continue;
    any = true;
    of_nothing[i] = at::full_like(inputs[i], input.padding.value_or(0));
  }
  if (!any) return false;
  try {
    return std::ranges::all_of(promoted(problem.reference, of_nothing), [](const at::Tensor& one) {
      return !one.is_floating_point() || at::isfinite(one).all().item().toBool();
    });
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Marks marks_of(const Problem& problem, DType dtype) {
  const at::NoGradGuard no_grad;
  try {
    const auto inputs = raise(plain_case(problem, dtype).inputs);
    MarkNotes notes{.problem = problem,
                    .inputs = inputs,
                    .scores = Scores(problem, inputs),
                    .exact = ExactIntegers(problem, inputs),
                    .rescaled = Rescaled(problem, inputs)};
    Inside inside;
    inside.marks = &notes;
    const Declared declared(problem, dtype);
    static_cast<void>(promoted(problem.reference, inputs, at::kDouble, inside));
    auto marks = summary_of(notes);
    // Where something has to be left it has none.
    marks.answers_nothing = marks.masks.empty() && answers_nothing(problem, inputs);
    return marks;
  } catch (const Error&) {
    throw;  // Of the library or of its bindings: cancelled, say.
  } catch (const std::exception&) {
    return {};  // Whoever draws cases says what it is.
  }
}

}  // namespace ouroboros::judge
