#include "judge/shapes/affordable.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::uint64_t order_stream = 400;

/// Places of `elements` in the order in which cases are taken.
std::vector<std::size_t> by_worth(const std::vector<CaseSpec>& specs,
                                  const std::vector<double>& elements, std::uint64_t seed) {
  std::map<std::pair<DType, std::string>, std::size_t> largest;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& family = specs[i].family;
    if (family != "normal" && family != "patchwork" && family != "scattered") continue;
    const auto [found, first] = largest.try_emplace({specs[i].dtype, family}, i);
    if (!first && elements[i] > elements[found->second]) found->second = i;
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> ranked;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const bool first = std::ranges::any_of(largest, [i](const auto& of) { return of.second == i; });
    ranked.emplace_back(first ? 0 : random::bits(random::key(seed, order_stream), i), i);
  }
  std::ranges::sort(ranked);
  std::vector<std::size_t> order;
  for (const auto& [rank, place] : ranked) order.push_back(place);
  return order;
}

/// Of the inputs and of the largest result.
double elements_of(const Problem& problem, const Growth& growth, const CaseSpec& spec) {
  return static_cast<double>(input_elements(problem, spec.axes)) + growth.largest(spec.axes);
}

}  // namespace

std::vector<CaseSpec> affordable(const Problem& problem, const Growth& growth,
                                 std::vector<CaseSpec> specs, std::uint64_t seed) {
  std::vector<double> elements;
  for (const auto& spec : specs) elements.push_back(elements_of(problem, growth, spec));
  if (std::accumulate(elements.begin(), elements.end(), 0.0) <= most_swept) return specs;
  std::vector<bool> taken(specs.size());
  std::map<DType, std::size_t> count;
  double sum = 0.0;
  for (const auto place : by_worth(specs, elements, seed)) {
    auto& of_dtype = count[specs[place].dtype];
    if (sum + elements[place] > most_swept && of_dtype >= least_swept) continue;
    taken[place] = true;
    sum += elements[place];
    ++of_dtype;
  }
  std::vector<CaseSpec> left;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (taken[i]) left.push_back(std::move(specs[i]));
  }
  return left;
}

}  // namespace ouroboros::judge
