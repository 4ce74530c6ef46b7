#include "judge/runs/marks.hpp"

#include <ATen/core/grad_mode.h>

#include <exception>

#include "judge/base/declared.hpp"
#include "judge/base/moved.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {

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
    return summary_of(notes);
  } catch (const Error&) {
    throw;  // Of the library or of its bindings: cancelled, say.
  } catch (const std::exception&) {
    return {};  // Whoever draws cases says what it is.
  }
}

}  // namespace ouroboros::judge
