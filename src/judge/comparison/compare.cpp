#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "judge/base/ranks.hpp"
#include "judge/base/tensors.hpp"
#include "judge/comparison/cut_off.hpp"
#include "judge/comparison/last_places.hpp"
#include "judge/comparison/misrounded.hpp"
#include "judge/comparison/near_choices.hpp"
#include "judge/comparison/rounded_by_chance.hpp"
#include "judge/comparison/short_results.hpp"
#include "judge/comparison/tally.hpp"
#include "judge/judge.hpp"
#include "judge/tolerance/tolerance.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

constexpr int few_digits = 7;
constexpr int all_digits = 17;  ///< Of a float64.

std::string number(double value, int digits = few_digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string position(const at::Tensor& tensor, std::int64_t element) {
  std::string text;
  for (std::int64_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    const auto extent = tensor.size(dim);
    text = std::to_string(element % extent) + (text.empty() ? "" : ", " + text);
    element /= extent;
  }
  return "[" + text + "]";
}

/// Value of one element, whatever its type and wherever it is. Of a bool its byte, which may be
/// none.
double value_at(const at::Tensor& tensor, std::int64_t element) {
  const auto numbers = tensor.scalar_type() == at::kBool ? tensor.view(at::kByte) : tensor;
  return numbers.view(-1).select(0, element).to(at::kDouble).item().toDouble();
}

std::string describe(const std::string& name, const at::Tensor& got, const at::Tensor& truth,
                     const at::Tensor& allowed, const Tally& tally) {
  const double made = value_at(got, tally.worst);
  const double expected = value_at(truth, tally.worst);
  const double limit = value_at(allowed, tally.worst);
  const int digits = number(made) == number(expected) ? all_digits : few_digits;
  std::string text = name + position(got, tally.worst) + " is " + number(made, digits) +
                     ", expected " + number(expected, digits);
  const double error = std::fabs(made - expected);
  if (std::isfinite(error)) {
    text += " (error " + number(error) + ", allowed " + number(limit) + ")";
  }
  return text + "; " + std::to_string(tally.wrong) + " of " + std::to_string(got.numel()) +
         " elements are wrong";
}

std::string describe(const std::string& name, const CutOff& found) {
  return name + " is not rounded to the nearest: its " +
         (found.of_sizes ? "numbers are " : "values are ") + number(std::fabs(found.mean)) +
         " units in the last place too " +
         (found.of_sizes ? (found.mean < 0 ? "small in size" : "large in size")
                         : (found.mean < 0 ? "low" : "high")) +
         " on average, where the reference's are off by nothing";
}

std::string describe(const std::string& name, const Misrounded& found) {
  return name + " is not rounded to the nearest: of " + std::to_string(found.told) +
         " numbers within a quarter of a unit in the last place of the nearest, " +
         std::to_string(found.wrong) + " became another, some larger and some smaller";
}

std::string describe(const std::string& name, const RoundedByChance& found) {
  return name + " is rounded by chance or by place: rows with the same true values have other " +
         "results in " + std::to_string(found.differ) + " of " + std::to_string(found.told) +
         " places, each within a quarter of a unit in the last place of the nearest";
}

bool is_copied(const Case& one, std::size_t output, double allowed) {
  if (output >= one.copies.size() || one.copies[output] != Copies::yes) return false;
  return allowed <= smallest_of(*dtype_of(one.reference[output].scalar_type()), one.spec.dtype);
}

/// Of outputs that are right number by number.
void refuse_roundings(const Problem& problem, const Case& one, const Tensors& outputs,
                      CaseResult& result) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto places = last_places(outputs[k], one.reference[k], one.oracle[k], one.allowed[k]);
    if (!places) continue;
    const auto refuse = [&](const auto& found, std::int64_t wrong) {
      result.status = "failed";
      result.output = problem.outputs[k];
      result.wrong_elements = wrong;
      result.message = describe(problem.outputs[k], found);
    };
    if (const auto cut = cut_off(*places)) return refuse(*cut, cut->wrong);
    const auto dtype = *dtype_of(outputs[k].scalar_type());
    // In other families what is rounded twice may always fall badly.
    const bool ordinary = one.spec.family == "normal";
    if (const auto found = ordinary ? misrounded(*places, dtype) : std::nullopt) {
      return refuse(*found, found->wrong);
    }
    const auto columns = outputs[k].size(-1);
    if (const auto found = rounded_by_chance(*places, columns)) {
      return refuse(*found, found->differ);
    }
  }
}

/// Of outputs that are right number by number, in ordinary cases: in others honest ones may be
/// short too, as what is left where large numbers cancel.
void refuse_short(const Problem& problem, const Case& one, const Tensors& outputs,
                  CaseResult& result) {
  if (one.spec.family != "normal") return;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto count = count_short(outputs[k], one.reference[k], one.oracle[k]);
    if (count == 0) continue;
    result.status = "failed";
    result.output = problem.outputs[k];
    result.wrong_elements = count;
    result.message = problem.outputs[k] + " is rounded: all " + std::to_string(count) +
                     " elements that have more in the reference have 12 bits or fewer";
    return;
  }
}

/// What a GPU's atomics may lose: no sum has more terms than the largest input has elements, and
/// each may be taken for zero on its way in, and the sum on its way out.
double flushed_by_atomics(const Case& one) {
  std::int64_t terms = 1;
  for (const auto& input : one.inputs) terms = std::max(terms, input.numel());
  return one.spec.dtype == DType::float64 ? 0.0 : 2.0 * 0x1p-126 * static_cast<double>(terms);
}

}  // namespace

CaseResult compare(const Problem& problem, const Case& one, const Tensors& outputs,
                   Arithmetic arithmetic) {
  CaseResult result;
  result.id = one.spec.id;
  result.dtype = to_string(one.spec.dtype);
  result.axes = one.spec.axes;
  result.family = family_name(one.spec);
  result.status = "passed";
  if (outputs.size() != one.oracle.size()) {
    throw Error(ErrorCode::invalid_argument, "compare: " + std::to_string(outputs.size()) +
                                                 " outputs for a problem with " +
                                                 std::to_string(one.oracle.size()));
  }
  bool first = true;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    auto got = outputs[k];
    const auto& made = one.reference[k];
    if (got.scalar_type() != made.scalar_type() || got.sizes() != made.sizes() ||
        !got.is_contiguous()) {
      throw Error(ErrorCode::invalid_argument,
                  "compare: '" + problem.outputs[k] + "' has not the dtype and shape of the case");
    }
    auto allowed = one.allowed[k];
    auto tally = tally_errors(got, made, one.oracle[k], allowed);
    if (tally.wrong > 0 && k < one.ranks.size() && one.ranks[k].numbers.defined()) {
      got = without_ties(got, one.ranks[k]);
      tally = tally_errors(got, made, one.oracle[k], allowed);
      if (tally.wrong > 0) {
        got = without_ties(without_near_choices(problem, one, k, outputs[k]), one.ranks[k]);
        tally = tally_errors(got, made, one.oracle[k], allowed);
      }
    }
    const bool adds = k >= one.copies.size() || one.copies[k] != Copies::yes;
    if (tally.wrong > 0 && adds && arithmetic == Arithmetic::gpu && got.is_floating_point()) {
      allowed = allowed.clamp_min(flushed_by_atomics(one));
      tally = tally_errors(got, made, one.oracle[k], allowed);
    }
    result.elements += got.numel();
    result.wrong_elements += tally.wrong;
    result.max_abs_error = std::max(result.max_abs_error, tally.error);
    result.reference_max_abs_error =
        std::max(result.reference_max_abs_error, tally.reference_error);
    if (first || tally.worst_ratio > result.error_over_allowed) {
      first = false;
      result.error_over_allowed = tally.worst_ratio;
      result.output = problem.outputs[k];
      if (tally.wrong > 0) {
        result.status = "failed";
        result.message = describe(problem.outputs[k], got, one.oracle[k], allowed, tally);
        if (is_copied(one, k, value_at(allowed, tally.worst))) {
          result.message += "; the output only has numbers of the inputs, which have to be exact";
        }
      }
    }
  }
  if (result.status == "passed") refuse_roundings(problem, one, outputs, result);
  if (result.status == "passed") refuse_short(problem, one, outputs, result);
  return result;
}

}  // namespace ouroboros::judge
