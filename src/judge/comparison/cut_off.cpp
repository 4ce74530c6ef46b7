#include "judge/comparison/cut_off.hpp"

#include <ATen/TensorOperators.h>

#include <cmath>

namespace ouroboros::judge {
namespace {

// Rounding is off by 0.29 units (1 / sqrt 12) and by nothing on average, cutting off by half a unit
// on average. Who has a factor that is wrong by 0.4 units is off by more than one somewhere.
constexpr double least_spread = 0.2;
constexpr double most_spread = 0.35;
constexpr double mean_of_rounding = 0.1;
constexpr double mean_of_cutting = 0.4;
constexpr double most_of_rounding = 0.55;

}  // namespace

std::optional<CutOff> cut_off(const LastPlaces& places) {
  const auto chosen = [&](const at::Tensor& all) { return all.masked_select(places.told); };
  const auto mean = [](const at::Tensor& errors) { return errors.mean().item().toDouble(); };
  const auto signs = chosen(places.truth).sign();
  const auto by_reference = chosen(places.reference);
  const double spread = by_reference.std().item().toDouble();
  if (spread < least_spread || spread > most_spread) return std::nullopt;
  const auto by_candidate = chosen(places.candidate);
  for (const bool of_sizes : {true, false}) {
    const auto seen = [&](const at::Tensor& errors) { return of_sizes ? errors * signs : errors; };
    const double average = mean(seen(by_candidate));
    if (std::fabs(mean(seen(by_reference))) > mean_of_rounding ||
        std::fabs(average) < mean_of_cutting) {
      continue;
    }
    return CutOff{average, of_sizes, by_candidate.abs().gt(most_of_rounding).sum().item().toLong()};
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
