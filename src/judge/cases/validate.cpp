#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "judge/base/random.hpp"
#include "judge/base/serial.hpp"
#include "judge/base/tensors.hpp"
#include "judge/cases/agreement.hpp"
#include "judge/judge.hpp"
#include "judge/runs/run.hpp"
#include "judge/values/families.hpp"

namespace ouroboros::judge {
namespace {

/// An answer that needs no computation; empty where it does not fit a case.
struct NullCandidate {
  std::string what;
  std::function<Tensors(const Case&)> answer;
  std::int64_t least = 1;  ///< Elements of an output about which it may be wrong.
};

bool has_elements(const Case& one, std::int64_t least) {
  return std::any_of(one.reference.begin(), one.reference.end(),
                     [least](const at::Tensor& made) { return made.numel() >= least; });
}

double mean_of(const at::Tensor& truth) {
  const auto real = truth.to(at::kDouble);
  const auto* values = real.const_data_ptr<double>();
  double sum = 0.0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < real.numel(); ++i) {
    if (!std::isfinite(values[i])) continue;
    sum += values[i];
    ++count;
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

/// By way of float64: few operators know 8-bit floats.
at::Tensor constant_like(const at::Tensor& made, double value) {
  return at::full(made.sizes(), value, at::TensorOptions(at::kDouble)).to(made.scalar_type());
}

Tensors filled(const Case& one, double value) {
  Tensors out;
  for (const auto& made : one.reference) out.push_back(constant_like(made, value));
  return out;
}

std::vector<NullCandidate> null_candidates() {
  return {
      {"zeros everywhere", [](const Case& one) { return filled(one, 0.0); }},
      {"ones everywhere", [](const Case& one) { return filled(one, 1.0); }},
      {"the mean of the right answer everywhere",
       [](const Case& one) {
         Tensors out;
         for (std::size_t k = 0; k < one.reference.size(); ++k) {
           out.push_back(constant_like(one.reference[k], mean_of(one.oracle[k])));
         }
         return out;
       },
       2},  // The mean of one number is the number.
      {"a copy of the first input",
       [](const Case& one) {
         Tensors out;
         if (one.inputs.empty()) return out;
         for (const auto& made : one.reference) {
           if (made.sizes() != one.inputs.front().sizes()) return Tensors{};
           // Whoever casts has something to do, and may have nothing else.
           if (made.scalar_type() != one.inputs.front().scalar_type()) return Tensors{};
           out.push_back(one.inputs.front());
         }
         return out;
       }},
  };
}

bool refused(const Problem& problem, const Case& one, const Tensors& answer) {
  return compare(problem, one, answer).status != "passed";
}

/// Redraws what `redraw` selects and asks whether the reference's answer leaves the tolerance of
/// the case.
bool moves(const Problem& problem, const Case& one,
           const std::function<bool(std::size_t)>& redraw) {
  auto other = one.spec;
  other.seed = random::mix(one.spec.seed + 1);
  auto inputs = one.inputs;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!redraw(k)) continue;
    inputs[k] = empty(inputs[k].sizes().vec(), inputs[k].scalar_type());
    draw_input(problem, other, k, 0, inputs[k]);
  }
  const auto made = run_reference(problem, other, inputs);
  for (std::size_t k = 0; k < made.size(); ++k) require_shape(problem, one, k, made[k]);
  return refused(problem, one, made);
}

}  // namespace

std::optional<std::string> validate(const Problem& problem, const std::vector<Case>& cases) {
  const at::NoGradGuard no_grad;
  const Serial serial;
  std::vector<const Case*> judged;
  for (const auto& one : cases) {
    if (has_elements(one, 1)) judged.push_back(&one);
  }
  const auto prefix = "the problem '" + problem.name + "' ";
  if (judged.empty()) return prefix + "has no case with an element to judge";
  if (problem.oracle) {
    if (auto apart = disagreement(problem, judged)) return apart;
  }

  for (const auto& candidate : null_candidates()) {
    const bool meant = std::any_of(judged.begin(), judged.end(), [&](const Case* one) {
      return has_elements(*one, candidate.least);
    });
    if (!meant) continue;
    const bool caught = std::any_of(judged.begin(), judged.end(), [&](const Case* one) {
      const auto answer = candidate.answer(*one);
      // What does not fit one case is no answer to the problem, even where it fits a tiny other.
      return answer.empty() || refused(problem, *one, answer);
    });
    if (!caught) {
      return prefix + "accepts " + candidate.what + " in every case: its reference tells nothing";
    }
  }

  // Cases in the order in which they are likeliest to show a difference.
  std::stable_sort(judged.begin(), judged.end(), [](const Case* a, const Case* b) {
    return (a->spec.family == "normal") > (b->spec.family == "normal");
  });
  const auto some_case_moves = [&](const std::function<bool(std::size_t)>& redraw) {
    return std::any_of(judged.begin(), judged.end(),
                       [&](const Case* one) { return moves(problem, *one, redraw); });
  };
  if (!problem.inputs.empty() && !some_case_moves([](std::size_t) { return true; })) {
    return prefix +
           "accepts a previous case's output: its outputs depend on its inputs too seldom, or not "
           "at all";
  }
  for (std::size_t k = 0; k < problem.inputs.size(); ++k) {
    // Models have parameters that cancel out, as the bias before a normalisation does.
    if (problem.inputs[k].parameter) continue;
    if (!some_case_moves([k](std::size_t input) { return input == k; })) {
      return prefix + "has outputs that do not move when the input '" + problem.inputs[k].name +
             "' is redrawn: drop the input, use it, or say which values it takes (\"mask\", say)";
    }
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
