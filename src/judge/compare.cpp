#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "judge/judge.hpp"
#include "judge/tensors.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

/// Stands for a ratio that has no number: NaN or infinity in the wrong place, a wrong integer.
constexpr double beyond = 1e30;

struct Tally {
  std::int64_t wrong = 0;
  std::int64_t worst = -1;  ///< Position of the worst wrong element.
  double worst_ratio = 0.0;
  double error = 0.0;
  double reference_error = 0.0;
};

bool same_kind(double got, double expected) noexcept {
  return (std::isnan(got) && std::isnan(expected)) || got == expected;
}

double ratio_of(double got, double expected, double allowed) noexcept {
  if (same_kind(got, expected)) return 0.0;
  const double error = std::fabs(got - expected);
  if (!std::isfinite(error)) return beyond;
  return allowed > 0.0 ? std::min(error / allowed, beyond) : beyond;
}

template <typename T>
Tally tally_real(const T* got, const T* made, const double* truth, const double* allowed,
                 std::int64_t count) noexcept {
  Tally tally;
  // Blocks without a wrong element, which is nearly all of them, take the quick loop alone.
  constexpr std::int64_t block = 1024;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const auto end = std::min(begin + block, count);
    double error = 0.0;
    double reference_error = 0.0;
    double ratio = 0.0;
    bool clean = true;
    for (std::int64_t i = begin; i < end; ++i) {
      const double difference = std::fabs(static_cast<double>(got[i]) - truth[i]);
      const double reference = std::fabs(static_cast<double>(made[i]) - truth[i]);
      // NaN fails every comparison, so that it never counts as close.
      clean &= difference <= allowed[i];
      error = difference > error ? difference : error;
      reference_error = reference > reference_error ? reference : reference_error;
      const double share = difference / allowed[i];
      ratio = share > ratio ? share : ratio;
    }
    if (clean) {
      tally.error = std::max(tally.error, error);
      tally.worst_ratio = std::max(tally.worst_ratio, ratio);
      tally.reference_error = std::max(tally.reference_error, reference_error);
      continue;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(got[i]);
      const double difference = std::fabs(value - truth[i]);
      if (std::isfinite(difference)) tally.error = std::max(tally.error, difference);
      const double reference = std::fabs(static_cast<double>(made[i]) - truth[i]);
      if (std::isfinite(reference)) {
        tally.reference_error = std::max(tally.reference_error, reference);
      }
      const double share = ratio_of(value, truth[i], allowed[i]);
      if (share > 1.0) {
        ++tally.wrong;
        if (tally.worst < 0 || share > tally.worst_ratio) tally.worst = i;
      }
      tally.worst_ratio = std::max(tally.worst_ratio, share);
    }
  }
  return tally;
}

template <typename T>
Tally tally_whole(const T* got, const std::int64_t* truth, std::int64_t count) noexcept {
  Tally tally;
  for (std::int64_t i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(got[i]) == truth[i]) continue;
    const double difference =
        std::fabs(static_cast<double>(got[i]) - static_cast<double>(truth[i]));
    tally.error = std::max(tally.error, difference);
    tally.worst_ratio = beyond;
    if (tally.wrong++ == 0) tally.worst = i;
  }
  return tally;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
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

/// Value of one element, whatever its type.
double value_at(const at::Tensor& tensor, std::int64_t element) {
  return with_type(*dtype_of(tensor.scalar_type()), [&]<typename T>(T*) {
    return static_cast<double>(static_cast<const T*>(tensor.const_data_ptr())[element]);
  });
}

std::string describe(const std::string& name, const at::Tensor& got, const at::Tensor& truth,
                     const at::Tensor& allowed, const Tally& tally) {
  const double made = value_at(got, tally.worst);
  const double expected = value_at(truth, tally.worst);
  const double limit = value_at(allowed, tally.worst);
  std::string text =
      name + position(got, tally.worst) + " is " + number(made) + ", expected " + number(expected);
  const double error = std::fabs(made - expected);
  if (std::isfinite(error)) {
    text += " (error " + number(error) + ", allowed " + number(limit) + ")";
  }
  return text + "; " + std::to_string(tally.wrong) + " of " + std::to_string(got.numel()) +
         " elements are wrong";
}

Tally tally_of(const at::Tensor& got, const at::Tensor& made, const at::Tensor& truth,
               const at::Tensor& allowed) {
  return with_type(*dtype_of(got.scalar_type()), [&]<typename T>(T*) {
    const auto* values = static_cast<const T*>(got.const_data_ptr());
    if constexpr (std::is_integral_v<T>) {
      return tally_whole(values, truth.const_data_ptr<std::int64_t>(), got.numel());
    } else {
      return tally_real(values, static_cast<const T*>(made.const_data_ptr()),
                        truth.const_data_ptr<double>(), allowed.const_data_ptr<double>(),
                        got.numel());
    }
  });
}

}  // namespace

CaseResult compare(const Problem& problem, const Case& one, const Tensors& outputs) {
  CaseResult result;
  result.id = one.spec.id;
  result.dtype = to_string(one.spec.dtype);
  result.axes = one.spec.axes;
  result.family = one.spec.family;
  result.status = "passed";
  if (outputs.size() != one.oracle.size()) {
    throw Error(ErrorCode::invalid_argument, "compare: " + std::to_string(outputs.size()) +
                                                 " outputs for a problem with " +
                                                 std::to_string(one.oracle.size()));
  }
  bool first = true;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto& got = outputs[k];
    const auto& made = one.reference[k];
    if (got.scalar_type() != made.scalar_type() || got.sizes() != made.sizes() ||
        !got.is_contiguous()) {
      throw Error(ErrorCode::invalid_argument,
                  "compare: '" + problem.outputs[k] + "' has not the dtype and shape of the case");
    }
    const auto tally = tally_of(got, made, one.oracle[k], one.allowed[k]);
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
        result.message = describe(problem.outputs[k], got, one.oracle[k], one.allowed[k], tally);
      }
    }
  }
  return result;
}

}  // namespace ouroboros::judge
