#include "judge/comparison/tally.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

/// Stands for a ratio that has no number: NaN or infinity in the wrong place, a wrong integer.
constexpr double beyond = 1e30;

bool same_kind(double got, double expected) noexcept {
  return (std::isnan(got) && std::isnan(expected)) || got == expected;
}

double ratio_of(double got, double expected, double allowed) noexcept {
  if (same_kind(got, expected) || std::isinf(allowed)) return 0.0;
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
Tally tally_whole(const T* got, const std::int64_t* truth, const double* allowed,
                  std::int64_t count) noexcept {
  Tally tally;
  for (std::int64_t i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(got[i]) == truth[i]) continue;
    const double difference =
        std::fabs(static_cast<double>(got[i]) - static_cast<double>(truth[i]));
    tally.error = std::max(tally.error, difference);
    const double share = allowed[i] > 0.0 ? std::min(difference / allowed[i], beyond) : beyond;
    if (share > 1.0) {
      ++tally.wrong;
      if (tally.worst < 0 || share > tally.worst_ratio) tally.worst = i;
    }
    tally.worst_ratio = std::max(tally.worst_ratio, share);
  }
  return tally;
}

/// `tally_real` for [first, first + count) of tensors on any device. Among equals, which element is
/// the worst is the device's choice.
Tally tally_chunk(const at::Tensor& got, const at::Tensor& made, const at::Tensor& truth,
                  const at::Tensor& allowed, std::int64_t first, std::int64_t count) {
  const auto part = [&](const at::Tensor& tensor) {
    return tensor.view(-1).narrow(0, first, count).to(at::kDouble);
  };
  const auto finite_max = [](const at::Tensor& errors) {
    return errors.nan_to_num(0.0, 0.0, 0.0).max();
  };
  const auto value = part(got);
  const auto expected = part(truth);
  const auto limit = part(allowed);
  const auto difference = (value - expected).abs_();
  // Whole numbers are compared as such: a float64 has not all of them.
  const auto same =
      got.is_floating_point()
          ? (value == expected).logical_or_(at::isnan(value).logical_and_(at::isnan(expected)))
          : got.view(-1).narrow(0, first, count).to(at::kLong) ==
                truth.view(-1).narrow(0, first, count);
  // Where nothing is allowed the quotient is infinite, and where the error is not finite it is too
  // or NaN: all of these count as beyond.
  auto share = (difference / limit).nan_to_num_(beyond, beyond, beyond).clamp_max_(beyond);
  share.masked_fill_(same.logical_or(limit.isinf()), 0.0);
  const auto found =
      at::stack({(share > 1.0).sum().to(at::kDouble), share.argmax().to(at::kDouble), share.max(),
                 finite_max(difference), finite_max((part(made) - expected).abs_())})
          .to(at::kCPU);
  const auto* numbers = found.const_data_ptr<double>();
  Tally tally;
  tally.wrong = static_cast<std::int64_t>(numbers[0]);
  tally.worst = tally.wrong > 0 ? first + static_cast<std::int64_t>(numbers[1]) : -1;
  tally.worst_ratio = numbers[2];
  tally.error = numbers[3];
  tally.reference_error = numbers[4];
  return tally;
}

}  // namespace

Tally tally_errors(const at::Tensor& output, const at::Tensor& made, const at::Tensor& truth,
                   const at::Tensor& allowed) {
  if (!output.is_cpu()) return tally_by_operators(output, made, truth, allowed);
  return with_type(*dtype_of(output.scalar_type()), [&]<typename T>(T*) {
    const auto* values = static_cast<const T*>(output.const_data_ptr());
    if constexpr (std::is_integral_v<T>) {
      return tally_whole(values, truth.const_data_ptr<std::int64_t>(),
                         allowed.const_data_ptr<double>(), output.numel());
    } else {
      return tally_real(values, static_cast<const T*>(made.const_data_ptr()),
                        truth.const_data_ptr<double>(), allowed.const_data_ptr<double>(),
                        output.numel());
    }
  });
}

Tally tally_by_operators(const at::Tensor& output, const at::Tensor& made, const at::Tensor& truth,
                         const at::Tensor& allowed) {
  // Bytes that are no bool are ones to whoever casts them.
  const auto got = output.scalar_type() == at::kBool ? output.view(at::kByte) : output;
  Tally all;
  for (std::int64_t first = 0; first < got.numel(); first += elements_at_once) {
    const auto some = tally_chunk(got, made, truth, allowed, first,
                                  std::min(elements_at_once, got.numel() - first));
    if (some.wrong > 0 && (all.worst < 0 || some.worst_ratio > all.worst_ratio)) {
      all.worst = some.worst;
    }
    all.wrong += some.wrong;
    all.worst_ratio = std::max(all.worst_ratio, some.worst_ratio);
    all.error = std::max(all.error, some.error);
    all.reference_error = std::max(all.reference_error, some.reference_error);
  }
  return all;
}

}  // namespace ouroboros::judge
