// Which plans meet which cases where there is no GPU.

#include <ATen/ops/empty.h>

#include <map>
#include <set>
#include <utility>

#include "catch.hpp"
#include "referee/device/interpreter.hpp"

using namespace ouroboros;
using referee::device::Interpretation;

namespace {

/// Cases with so many elements each, whose seeds begin at `seed`, and so many plans for each.
struct Asked {
  referee::CasePool pool;
  std::vector<referee::Planned> planned;

  Asked(const std::vector<std::pair<std::int64_t, std::size_t>>& cases, std::uint64_t seed) {
    for (const auto& [elements, plans] : cases) {
      judge::Case one;
      one.spec.seed = seed++;
      one.inputs = {at::empty({elements})};
      pool.cases.push_back(std::move(one));
      planned.emplace_back().variants.resize(plans);
    }
  }

  [[nodiscard]] std::vector<Interpretation> which() const {
    return referee::device::interpretations(pool, planned);
  }
};

}  // namespace

TEST_CASE("without choices each case is interpreted once, in order", "[referee]") {
  const auto which = Asked({{1, 1}, {5000, 1}, {20, 0}, {2000, 1}}, 7).which();
  REQUIRE(which.size() == 3);
  CHECK(which[0].which == 0);
  CHECK(which[1].which == 1);
  CHECK(which[2].which == 3);
  CHECK(Asked({{1, 0}}, 7).which().empty());
}

TEST_CASE("plans meet equally many cases, and all meet a small one", "[referee]") {
  std::set<std::size_t> of_the_first;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    std::vector<std::pair<std::int64_t, std::size_t>> cases(12, {9000, 4});
    cases[3].first = 1025;  // The smallest that shows something.
    cases[5].first = 8;
    const auto which = Asked(cases, seed * 100).which();
    CHECK(which.size() == 12 + 3);
    std::map<std::size_t, int> cases_of;
    std::map<std::size_t, int> plans_of;
    for (const auto& [i, variant] : which) {
      ++plans_of[i];
      if (i != 3) ++cases_of[variant];
      if (i == 0) of_the_first.insert(variant);
    }
    for (std::size_t variant = 0; variant < 4; ++variant) {
      CHECK(cases_of[variant] >= 2);
      CHECK(cases_of[variant] <= 3);
    }
    for (std::size_t i = 0; i < 12; ++i) CHECK(plans_of[i] == (i == 3 ? 4 : 1));
  }
  CHECK(of_the_first.size() == 4);
}
