#include <ATen/ops/softmax.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "catch.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/shapes/landmarks.hpp"
#include "judge/shapes/tile_groups.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using judge::landmark_cases;
using judge::landmarks_of;
using ouroboros_test::softmax_problem;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers ordered(std::string_view source) { return landmarks_of(source).ordered; }
Numbers equal(std::string_view source) { return landmarks_of(source).equal; }
Numbers others(std::string_view source) { return landmarks_of(source).others; }

Axis named_axis(std::string name) {
  Axis axis;
  axis.name = std::move(name);
  return axis;
}

/// A product of matrices: three axes, of which two inputs have two each.
Problem product_problem() {
  auto problem = softmax_problem();
  problem.axes.resize(3);
  problem.inputs.resize(2);
  for (std::size_t i = 0; i < 3; ++i) problem.axes[i] = named_axis(std::string(1, "mkn"[i]));
  problem.inputs[0].shape = {{1, "m"}, {1, "k"}};
  problem.inputs[1].shape = {{1, "k"}, {1, "n"}};
  return problem;
}

}  // namespace

TEST_CASE("a source's whole numbers are found, and those that are compared apart", "[judge]") {
  CHECK(ordered("if (rows > 65 && 97 >= rows) return;") == (Numbers{65, 97}));
  CHECK(ordered("if (rows<65 || 97<=rows) return;") == (Numbers{65, 97}));
  CHECK(ordered("softmax<256>(x)") == (Numbers{256}));
  CHECK(equal("if cols==777: pass\nwhile 40 != n: pass") == (Numbers{40, 777}));
  CHECK(others("constexpr int block = 64; x[128] += 32;") == (Numbers{32, 64, 128}));
  const auto none = landmarks_of("block = 64; x -= 32; f(p->a, 16); n >> 5; 6 << n; p->7; 9");
  CHECK(none.ordered.empty());
  CHECK(none.equal.empty());
  // A number that is compared somewhere is no other.
  CHECK(others("n = 64; if (m < 64) {}").empty());
  CHECK(equal("if (n == 64 || m < 64) {}").empty());
}

TEST_CASE("literals are read as their languages write them", "[judge]") {
  CHECK(others("1'024 2_048 0x40 0b11000 0o100 33u 34ULL") ==
        (Numbers{24, 33, 34, 64, 1024, 2048}));
  CHECK(others("float32 int64_t x12 _7 1e3 64.0 64. .5 0.125f 1e-5 3e+8 12ab 0x").empty());
  CHECK(others("0 1 2 262144 262145 99999999999999999999") == (Numbers{262144}));
}

TEST_CASE("what literals alone make up counts by its value", "[judge]") {
  CHECK(ordered("if (k >= 8 * 128) {}") == (Numbers{1024}));
  CHECK(ordered("if (1 << 10 <= k) {}") == (Numbers{1024}));
  CHECK(ordered("if k > 2 ** 9 * 3: pass") == (Numbers{1536}));
  CHECK(others("n = 64 * rows + (1 << shift)") == (Numbers{64}));
  CHECK(others("1 << 62 << 62 << 9; 10 ** 40; 9 ** 0").empty());
  CHECK(others("5 * 1e3") == (Numbers{5}));
}

TEST_CASE("what something is shifted right by counts as the power of two", "[judge]") {
  CHECK(others("if ((rows * cols) >> 17) {}; n>>3 != 0; n >> 40") == (Numbers{8, 40, 131072}));
  CHECK(ordered("a<b<3>>12") == (Numbers{3}));
}

TEST_CASE("a type of 16 bits counts as what it holds", "[judge]") {
  CHECK(others("uint16_t i; tl.int16; x.to(tl.uint16)") == (Numbers{32768, 65536}));
  CHECK(others("uint16x8_t; short2; shorter; my_int16") == Numbers{});
  CHECK(ordered("n < (short)5") == Numbers{});
}

TEST_CASE("numbers of elements are met from above", "[judge]") {
  auto problem = product_problem();
  const auto meets = [&](std::string_view source, std::int64_t elements) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto cases = landmark_cases(problem, {DType::float32}, seed, landmarks_of(source), 0);
      CHECK(std::ranges::any_of(cases, [&](const auto& spec) {
        const auto largest = judge::largest_input(problem, spec.axes);
        return largest > elements && largest < elements + elements / 4;
      }));
    }
  };
  meets("if (rows * cols >> 17) {}", 131072);
  meets("if x.numel() > 100_000: pass", 100000);
  // What no shape reaches is left out.
  for (auto& axis : problem.axes) axis.maximum = 100;
  CHECK(landmark_cases(problem, {DType::float32}, 1, landmarks_of("n > 100000"), 0).empty());
}

TEST_CASE("so many programs of so many elements as a source names are too few for a case",
          "[judge]") {
  const auto met = [](const Problem& problem, std::string_view source) {
    std::int64_t most = 0;
    for (const auto& spec : landmark_cases(problem, {DType::float32}, 3, landmarks_of(source), 0)) {
      most = std::max(most, judge::largest_input(problem, spec.axes));
    }
    return most;
  };
  auto line = softmax_problem();
  line.axes = {named_axis("n")};
  line.axes[0].maximum = 1 << 20;
  line.inputs[0].shape = {{1, "n"}};
  for (const auto& problem : {line, softmax_problem(), product_problem()}) {
    const auto most = met(problem, "kernel[(108,)](x, out, n, BLOCK=1024)");
    CHECK(most > 108 * 1024);
    CHECK(most < 108 * 1024 * 5 / 4);
    // Ordinary cases have as many elements, and those in which one axis is long come near it.
    CHECK(met(problem, "kernel[(60,)](x, out, n, BLOCK=1024)") <= judge::most_elements);
  }
}

TEST_CASE("every axis goes far beyond a large number", "[judge]") {
  const auto problem = softmax_problem();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::map<std::string, int> far;
    const auto landmarks = landmarks_of("min(n, 2048), BLOCK=64, M=32, N=16, warps=8, stages=3");
    for (const auto& spec : landmark_cases(problem, {DType::float32}, seed, landmarks, 0)) {
      for (const auto& [name, extent] : spec.axes) far[name] += extent >= 3072 && extent < 4096;
    }
    for (const auto& axis : problem.axes) CHECK(far[axis.name] > 0);
  }
}

TEST_CASE("two axes of several have more elements than a number by themselves", "[judge]") {
  auto problem = softmax_problem();
  problem.axes.resize(3);
  for (std::size_t i = 0; i < 3; ++i) problem.axes[i] = named_axis(std::string(1, "bsh"[i]));
  problem.inputs[0].shape = {{1, "b"}, {1, "s"}, {1, "h"}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto cases =
        landmark_cases(problem, {DType::float32}, seed, landmarks_of("min(s * h, 16384)"), 0);
    REQUIRE(cases.size() > 2);
    std::set<std::string> short_ones;
    for (const auto& spec : {cases.end()[-1], cases.end()[-2]}) {
      const auto& axes = spec.axes;
      CHECK(axes.at("s") > 2);
      for (const char* one : {"b", "h"}) {
        if (axes.at(one) == 2) short_ones.insert(one);
      }
      const auto both = judge::largest_input(problem, axes) / 2;
      CHECK(both > 16384 + 16384 / 4);
      CHECK(both < 2 * 16384 + 16384 / 4);
    }
    CHECK(short_ones.size() == 2);
  }
}

TEST_CASE("an axis among others is as long as twice what a source compares it with", "[judge]") {
  const auto problem = product_problem();
  std::int64_t longest = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& spec :
         landmark_cases(problem, {DType::float32}, seed, landmarks_of("if (k > 4096) {}"), 0)) {
      for (const auto& [_, extent] : spec.axes) longest = std::max(longest, extent);
    }
  }
  CHECK(longest > 5000);
  CHECK(longest <= 8193);
}

TEST_CASE("of a source that is all numbers the first are taken", "[judge]") {
  std::string source;
  for (int i = 3; i < 100000; ++i) source += std::to_string(i) + " ";
  CHECK(others(source).size() == 1024);
  CHECK(landmark_cases(softmax_problem(), {DType::float32}, 1, landmarks_of(source), 0).size() ==
        15);
}

TEST_CASE("a source without numbers has no such cases", "[judge]") {
  CHECK(landmark_cases(softmax_problem(), {DType::float32}, 1, landmarks_of("run(x)"), 0).empty());
}

TEST_CASE("every axis meets what begins at a number, and the number", "[judge]") {
  const auto problem = softmax_problem();
  const auto landmarks = landmarks_of("if (rows > 700 && rows < 900 || cols == 555) x[5] = 1000;");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::map<std::string, std::set<std::int64_t>> met;
    std::map<AxisValues, std::set<std::string>> families;
    for (const auto& spec : landmark_cases(problem, {DType::float32}, seed, landmarks, 0)) {
      for (const auto& [name, extent] : spec.axes) met[name].insert(extent);
      families[spec.axes].insert(spec.family);
      CHECK(judge::largest_input(problem, spec.axes) <= judge::most_timed_elements);
    }
    // Beside rows of large errors a small one of an ordinary row is not seen.
    CHECK(std::ranges::count(families | std::views::values,
                             std::set<std::string>{"normal", "patchwork"}) >= 4);
    for (const auto& [name, extents] : met) {
      const auto meets = [&](std::int64_t low, std::int64_t high) {
        return std::ranges::any_of(
            extents, [&](std::int64_t extent) { return extent > low && extent < high; });
      };
      INFO(name << " by seed " << seed);
      CHECK(extents.count(555) == 1);
      CHECK(meets(700, 900));
      CHECK(meets(900, 1800));
    }
  }
}

TEST_CASE("a single number is met from both sides as well", "[judge]") {
  const auto problem = softmax_problem();
  std::set<std::int64_t> met;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& spec : landmark_cases(problem, {DType::float32}, seed,
                                           landmarks_of("if (cols > 700) return;"), 0)) {
      met.insert(spec.axes.at("cols"));
    }
  }
  CHECK(met.count(699) == 1);
  CHECK(met.count(700) == 1);
  CHECK(met.count(701) == 1);
}

TEST_CASE("where not all axes can be long, they are so in turn", "[judge]") {
  const auto problem = product_problem();
  const auto landmarks = landmarks_of("if (k >= 2000) {}");
  const auto cases = landmark_cases(problem, {DType::float32}, 3, landmarks, 40);
  REQUIRE(cases.size() == 21);
  std::map<std::string, int> longest;
  for (std::size_t i = 0; i < 18; ++i) {
    CHECK(cases[i].id == 40 + static_cast<int>(i));
    for (const auto& [name, extent] : cases[i].axes) longest[name] += extent >= 1999;
  }
  CHECK(longest["m"] >= 6);
  CHECK(longest["k"] >= 6);
  CHECK(longest["n"] >= 6);
}

TEST_CASE("groups of tiles end with a shorter one", "[judge]") {
  // Which tiles are left out by who takes all groups for as long.
  const auto missing = [](std::int64_t rows, std::int64_t columns, std::int64_t tile,
                          std::int64_t group) {
    const auto down = (rows + tile - 1) / tile;
    const auto across = (columns + tile - 1) / tile;
    const auto height = std::min(group, down);
    std::set<std::pair<std::int64_t, std::int64_t>> made;
    for (std::int64_t id = 0; id < down * across; ++id) {
      const auto row = id / (height * across) * height + id % height;
      if (row < down) made.emplace(row, id % (height * across) / height);
    }
    return down * across - static_cast<std::int64_t>(made.size());
  };
  const auto product = product_problem();
  const std::string source =
      "BLOCK_M=128, BLOCK_N=64, BLOCK_K=32, GROUP_M=8; BLOCK_M=64, GROUP_M=4";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto found = judge::tile_group_shapes(product, landmarks_of(source), seed);
    REQUIRE(found.size() == 2);
    for (const std::int64_t tile : {32, 64, 128}) {
      for (const std::int64_t group : {4, 8}) {
        CHECK(missing(found[0].at("m"), found[0].at("n"), tile, group) > 0);
        CHECK(missing(found[1].at("n"), found[1].at("m"), tile, group) > 0);
      }
    }
  }
  const auto cases = landmark_cases(product, {DType::float32}, 1, landmarks_of(source), 0);
  CHECK(std::ranges::any_of(cases, [&](const judge::CaseSpec& one) {
    return missing(one.axes.at("m"), one.axes.at("n"), 128, 8) > 0;
  }));
  // Where there are no tiles, or nothing that has them.
  CHECK(judge::tile_group_shapes(product, landmarks_of("n = 8"), 1).empty());
  CHECK(judge::tile_group_shapes(softmax_problem(), landmarks_of(source), 1).empty());
}

TEST_CASE("numbers move to what a problem allows", "[judge]") {
  auto problem = softmax_problem();
  for (auto& axis : problem.axes) {
    if (axis.name == "cols") axis.multiple_of = 16;
    if (axis.name == "rows") axis.maximum = 50;
  }
  const auto landmarks = landmarks_of("rows < 100, cols < 37");
  for (const auto& spec : landmark_cases(problem, {DType::float32}, 7, landmarks, 0)) {
    CHECK(spec.axes.at("cols") % 16 == 0);
    CHECK(spec.axes.at("rows") <= 50);
  }
}

TEST_CASE("such cases follow from the seed and the numbers alone", "[judge]") {
  const auto problem = softmax_problem();
  const auto axes = [&](std::uint64_t seed) {
    std::vector<AxisValues> all;
    for (const auto& spec : landmark_cases(problem, {DType::float32, DType::float16}, seed,
                                           landmarks_of("n < 40, n < 50, n < 60"), 0)) {
      all.push_back(spec.axes);
    }
    return all;
  };
  CHECK(axes(5) == axes(5));
  CHECK(axes(5) != axes(6));
}
