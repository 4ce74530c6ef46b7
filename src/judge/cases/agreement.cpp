#include "judge/cases/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "judge/runs/run.hpp"

namespace ouroboros::judge {
namespace {

constexpr double coarse = 0.25;

bool mostly_apart(const at::Tensor& made, const at::Tensor& truth) {
  const auto reals = [](const at::Tensor& some) { return some.to(at::kDouble).contiguous(); };
  const auto a = reals(made);
  const auto b = reals(truth);
  std::vector<std::pair<double, double>> known;  ///< Sizes, and how far the reference is from them.
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    const double ours = a.const_data_ptr<double>()[i];
    const double right = b.const_data_ptr<double>()[i];
    if (std::isfinite(ours) && std::isfinite(right)) {
      known.emplace_back(std::abs(right), std::abs(ours - right));
    }
  }
  if (known.empty()) return false;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  const double usual = middle->first;
  const auto apart = std::ranges::count_if(known, [&](const auto& one) {
    const auto& [size, distance] = one;
    return distance > (truth.is_floating_point() ? coarse * std::max(size, usual) : 1.0);
  });
  return 2 * static_cast<std::size_t>(apart) > known.size();
}

/// Which output it is of whose elements most are another number than the oracle's.
std::optional<std::size_t> output_apart(const Case& one) {
  for (std::size_t k = 0; k < one.reference.size(); ++k) {
    if (mostly_apart(one.reference[k], one.oracle[k])) return k;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> disagreement(const Problem& problem,
                                        const std::vector<const Case*>& cases) {
  std::map<DType, std::vector<const Case*>> ordinary;
  for (const auto* one : cases) {
    if (one->spec.family == "normal") ordinary[one->spec.dtype].push_back(one);
  }
  for (const auto& [dtype, some] : ordinary) {
    std::vector<std::pair<const Case*, std::size_t>> apart;
    for (const auto* one : some) {
      if (const auto output = output_apart(*one)) apart.emplace_back(one, *output);
    }
    if (2 * apart.size() <= some.size()) continue;
    const auto& [one, output] = apart.front();
    return fmt::format(
        "the problem '{}' has an oracle that does not compute what its reference does: most "
        "elements of the output '{}' are something else{}: mend one of the two, or leave the "
        "oracle out",
        problem.name, problem.outputs[output], in_case(one->spec));
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
