#include <ATen/ops/arange.h>
#include <ATen/ops/max.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "judge/base/moved.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/values/families.hpp"
#include "judge_problems.hpp"
#include "ouroboros/error.hpp"

using namespace ouroboros;
using ouroboros_test::softmax_problem;

namespace {

const std::vector<DType> floats = {DType::float32, DType::float64, DType::float16};

/// Lengths along the columns.
Input lengths_of(std::vector<Dim> shape) {
  Input lengths;
  lengths.name = "lengths";
  lengths.shape = std::move(shape);
  lengths.dtype = DType::int32;
  lengths.values = Values::length;
  lengths.index_axis = "cols";
  return lengths;
}

void draw_into(const Problem& problem, const judge::CaseSpec& spec, const Tensors& into) {
  judge::draw_inputs(problem, std::span(&spec, 1), std::span(&into, 1));
}

}  // namespace

TEST_CASE("every family is met in every dtype, and some fifty cases are enough", "[judge]") {
  auto problem = softmax_problem();
  problem.policies.nan_meaningful = true;
  problem.policies.inf_meaningful = true;
  problem.timed = {{{"rows", 33}, {"cols", 70}}};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::map<DType, std::set<std::string>> seen;
    std::map<DType, int> count;
    for (const auto& spec : judge::derive_cases(problem, floats, seed)) {
      seen[spec.dtype].insert(spec.family);
      ++count[spec.dtype];
    }
    for (const auto dtype : floats) {
      const auto names = judge::families(problem, dtype);
      std::set<std::string> wanted(names.begin(), names.end());
      wanted.insert({"patchwork", "scattered", "again", "spread", "lone_nan", "lone_inf",
                     "lone_minus_inf", "nan_and_inf"});
      CHECK(seen[dtype] == wanted);
      CHECK(count[dtype] <= 58);
    }
  }
}

TEST_CASE("every derived shape is met in every dtype", "[judge]") {
  const auto problem = softmax_problem();
  const std::set<AxisValues> wanted = {
      {{"rows", 0}, {"cols", 3}},     {{"rows", 1}, {"cols", 1}},    {{"rows", 64}, {"cols", 256}},
      {{"rows", 5}, {"cols", 1025}},  {{"rows", 97}, {"cols", 3}},   {{"rows", 17}, {"cols", 2504}},
      {{"rows", 17}, {"cols", 1000}}, {{"rows", 65}, {"cols", 257}}, {{"rows", 129}, {"cols", 31}},
      {{"rows", 2}, {"cols", 4097}},  {{"rows", 65}, {"cols", 1}},
  };
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::map<DType, std::set<AxisValues>> seen;
    for (const auto& spec : judge::derive_cases(problem, floats, seed)) {
      seen[spec.dtype].insert(spec.axes);
    }
    for (const auto dtype : floats) {
      // And fourteen that the seed draws, if they are no others; one of them is square, one has
      // many rows of next to nothing, and two have one row or column.
      CHECK(std::ranges::includes(seen[dtype], wanted));
      CHECK(seen[dtype].size() <= wanted.size() + 14);
      CHECK(std::ranges::any_of(seen[dtype], [](const AxisValues& axes) {
        return axes.at("rows") >= 4097 && axes.at("cols") > 1 && axes.at("cols") < 6;
      }));
      CHECK(std::ranges::any_of(seen[dtype], [](const AxisValues& axes) {
        return axes.at("rows") == axes.at("cols") && axes.at("rows") > 1;
      }));
    }
  }
}

TEST_CASE("products of rows stand out where two inputs have rows of one length", "[judge]") {
  auto problem = softmax_problem();
  problem.timed = {{{"rows", 33}, {"cols", 70}}};
  const auto sinks = [&] {
    const auto cases = judge::derive_cases(problem, floats, 7);
    return std::ranges::count(cases, "sink", &judge::CaseSpec::family);
  };
  CHECK(sinks() == 0);
  problem.inputs.push_back(problem.inputs.front());
  CHECK(sinks() == 3);
  problem.inputs.back().shape = {{1, "cols"}, {1, "rows"}};  // As of a matrix product.
  CHECK(sinks() == 0);
}

TEST_CASE("every timed cell is swept in every dtype", "[judge]") {
  auto problem = softmax_problem();
  problem.timed = {{{"rows", 33}, {"cols", 70}}, {{"rows", 21}, {"cols", 12000}}};
  std::map<DType, int> met;
  for (const auto& spec : judge::derive_cases(problem, floats, 3)) {
    met[spec.dtype] += std::count(problem.timed.begin(), problem.timed.end(), spec.axes) != 0 &&
                       spec.family == "normal";
  }
  for (const auto dtype : floats) CHECK(met[dtype] == 2);
}

TEST_CASE("a product of matrices keeps the proportions of its timed cell", "[judge]") {
  Problem problem;
  for (const auto* axis : {"m", "k", "n"}) problem.axes.push_back({axis});
  problem.inputs = {{"a", {{1, "m"}, {1, "k"}}}, {"b", {{1, "k"}, {1, "n"}}}};
  const AxisValues cell = {{"m", 1024}, {"k", 1024}, {"n", 1024}};
  const AxisValues cut = {{"m", 256}, {"k", 256}, {"n", 1024}};
  CHECK(judge::shortened(problem, cell, 1 << 18) == cut);
  const AxisValues tall = {{"m", 64}, {"k", 64}, {"n", 8192}};
  const AxisValues cut_tall = {{"m", 64}, {"k", 32}, {"n", 8192}};
  CHECK(judge::shortened(problem, tall, 1 << 18) == cut_tall);
}

TEST_CASE("large weights of fixed extents make no shape small", "[judge]") {
  auto problem = softmax_problem();
  const auto shapes = [&problem] {
    std::set<AxisValues> axes;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 3)) {
      axes.insert(spec.axes);
    }
    return axes;
  };
  const auto without = shapes();
  problem.inputs.push_back({"weight", {{4096, ""}, {4096, ""}}});
  CHECK(shapes() == without);
}

TEST_CASE("axes that may be longer than others are long once", "[judge]") {
  auto problem = softmax_problem();
  const auto longest = [&problem](const std::string& axis) {
    std::int64_t found = 0;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 3)) {
      found = std::max(found, spec.axes.at(axis));
    }
    return found;
  };
  CHECK(longest("cols") <= 8192);
  for (auto& axis : problem.axes) axis.maximum = 100'000;
  CHECK(longest("cols") > 50'000);
  CHECK(longest("cols") <= 100'000);
  CHECK(longest("rows") <= 8192);  // For each of them a kernel may launch a program.
  std::set<DType> met;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    int count = 0;
    for (const auto& spec : judge::derive_cases(problem, floats, seed)) {
      if (spec.axes.at("cols") <= 8192) continue;
      met.insert(spec.dtype);
      ++count;
    }
    CHECK(count == 1);
  }
  CHECK(met.size() == floats.size());
  for (auto& axis : problem.axes) axis.maximum = std::int64_t{1} << 40;
  CHECK(longest("cols") > 65'536);
  Input tokens{"tokens", {{1, "rows"}}, DType::int64};
  tokens.values = Values::index;
  tokens.index_axis = "rows";
  problem.inputs.push_back(tokens);
  CHECK(longest("rows") > 65'536);
}

TEST_CASE("sums of narrow integers are long along every axis", "[judge]") {
  auto problem = softmax_problem();
  const auto longest = [&problem](const std::string& axis) {
    std::int64_t found = 0;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 3)) {
      if (spec.family == "common_mean") found = std::max(found, spec.axes.at(axis));
    }
    return found;
  };
  problem.dtypes = {DType::int8};  // Which an input without one of its own has.
  CHECK(longest("rows") >= 2000);
  CHECK(longest("cols") >= 2000);
  problem.dtypes = {DType::float32};
  CHECK(longest("rows") < 2000);
  problem.inputs[0].dtype = DType::int8;
  CHECK(longest("rows") >= 2000);
  CHECK(longest("cols") >= 2000);
  const auto drawn = judge::empty({4, 2000}, at::kChar);
  judge::draw_input(problem, {0, DType::float32, {{"rows", 4}, {"cols", 2000}}, "common_mean", 7},
                    0, 0, drawn);
  const auto total = drawn.to(at::kDouble).sum().item().toDouble();
  CHECK(std::abs(total) > 8000 * 80.0);
  CHECK(drawn.to(at::kDouble).abs().max().item().toDouble() > 112.0);
  CHECK(drawn.to(at::kDouble).abs().min().item().toDouble() < 64.0);
}

TEST_CASE("some shapes nobody can list, because the seed draws them", "[judge]") {
  const auto problem = softmax_problem();
  const auto widths = [&](std::uint64_t seed) {
    std::set<std::int64_t> found;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, seed)) {
      found.insert(spec.axes.at("cols"));
    }
    return found;
  };
  std::set<std::int64_t> all;
  for (std::uint64_t seed = 0; seed < 50; ++seed) all.merge(widths(seed));
  CHECK(widths(1) == widths(1));
  CHECK(all.size() > 60);
}

TEST_CASE("shapes of any proportions are drawn, and meet all families", "[judge]") {
  std::map<int, int> tall;  // By rows, in powers of two, of shapes that have many columns too.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const auto& spec : judge::derive_cases(softmax_problem(), {DType::float32}, seed)) {
      const auto rows = spec.axes.at("rows");
      if (spec.family == "patchwork" && spec.along.empty() && spec.axes.at("cols") > 8) {
        ++tall[std::ilogb(static_cast<double>(rows))];
      }
    }
  }
  for (const int power : {1, 5, 6, 7, 8, 9, 10}) CHECK(tall[power] > 10);
}

TEST_CASE("the last dimension is long, whatever order axes are declared in", "[judge]") {
  auto problem = softmax_problem();
  const auto usual = judge::derive_cases(problem, {DType::float32}, 3);
  std::swap(problem.axes[0], problem.axes[1]);
  const auto swapped = judge::derive_cases(problem, {DType::float32}, 3);
  REQUIRE(usual.size() == swapped.size());
  for (std::size_t i = 0; i < 11; ++i) CHECK(usual[i].axes == swapped[i].axes);
}

TEST_CASE("families lie along another axis as they lie along the last", "[judge]") {
  const auto problem = softmax_problem();
  judge::CaseSpec spec{0, DType::float32, {{"rows", 40}, {"cols", 64}}, "patchwork", 5, "rows"};
  const auto along = judge::empty({40, 64}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, along);
  CHECK(judge::family_name(spec) == "patchwork along rows");
  spec.along.clear();
  const auto usual = judge::empty({64, 40}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, usual);
  CHECK(judge::same_bits(along.t().contiguous(), usual));
  CHECK(judge::family_name(spec) == "patchwork");
  int met = 0;
  for (const auto& one : judge::derive_cases(problem, floats, 5)) met += one.along == "rows";
  CHECK(met == 3);
}

TEST_CASE("rows of integers are of all kinds as well", "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::int8, {{"rows", 64}, {"cols", 50}}, "patchwork", 5};
  const auto into = judge::empty({64, 50}, at::kChar);
  judge::draw_input(problem, spec, 0, 0, into);
  std::set<std::int64_t> of_one;  // Rows of one number.
  for (const auto& row : into.to(at::kLong).unbind()) {
    if (row.min().item().toLong() == row.max().item().toLong())
      of_one.insert(row[0].item().toLong());
  }
  CHECK(of_one.contains(127));
  CHECK(of_one.contains(-128));
  CHECK(of_one.contains(0));
}

TEST_CASE("rows are long, and full of whole blocks", "[judge]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    bool is_long = false;
    bool is_whole = false;
    bool is_patchwork = false;  // Eight rows: one of each family.
    for (const auto& spec : judge::derive_cases(softmax_problem(), {DType::float32}, seed)) {
      const auto cols = spec.axes.at("cols");
      is_long |= spec.axes.at("rows") == 1 && cols > 5 * 1024;
      is_patchwork |= spec.family == "patchwork" && spec.axes.at("rows") == 8 && cols > 4096;
      is_whole |= cols >= 2048 && cols % 1024 == 0;
    }
    CHECK(is_long);
    CHECK(is_whole);
    CHECK(is_patchwork);
  }
}

TEST_CASE("of any eight rows of a patchwork one has a mean far from zero", "[judge]") {
  const auto problem = softmax_problem();
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 8}, {"cols", 5000}}, "patchwork", seed};
    const auto into = judge::empty({8, 5000}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    const auto rows = into.to(at::kDouble).unbind();
    CHECK(std::ranges::any_of(rows, [](const at::Tensor& row) {
      const double mean = row.mean().item().toDouble();
      const double variance = (row - mean).square().mean().item().toDouble();
      return std::fabs(mean) > 64 && variance > 0.5 && variance < 2.0;
    }));
  }
}

TEST_CASE("of a family's rows in a patchwork there are all kinds", "[judge]") {
  // Ascending at both ends, and the largest in between: one kind of four of sorted rows.
  const auto problem = softmax_problem();
  const auto ascends = [](const at::Tensor& x) { return x.diff(1, -1).ge(0).all(-1); };
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 256}}, "patchwork", seed};
    const auto x = judge::empty({64, 256}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, x);
    const auto ends = ascends(x.narrow(1, 0, 32)).logical_and(ascends(x.narrow(1, 224, 32)));
    INFO("seed " << seed);
    CHECK(ends.logical_and(x.amax(1).gt(x.select(1, 255) + 64.0)).any().item().toBool());
  }
}

TEST_CASE("every axis is long in some case of every dtype", "[judge]") {
  Problem product;
  product.name = "product";
  for (const char* name : {"m", "k", "n"}) {
    Axis axis;
    axis.name = name;
    product.axes.push_back(axis);
  }
  Input a;
  a.name = "a";
  a.shape = {{1, "m"}, {1, "k"}};
  Input b;
  b.name = "b";
  b.shape = {{1, "k"}, {1, "n"}};
  product.inputs = {a, b};
  product.timed = {{{"m", 256}, {"k", 300}, {"n", 256}}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto dtype : floats) {
      std::map<std::string, std::set<std::int64_t>> extents;
      std::map<std::string, std::int64_t> patched;  // The longest that all families meet.
      bool timed = false;
      bool balanced = false;
      bool uneven = false;
      for (const auto& spec : judge::derive_cases(product, floats, seed)) {
        if (spec.dtype != dtype) continue;
        for (const auto& [name, extent] : spec.axes) {
          extents[name].insert(extent);
          if (spec.family == "patchwork") patched[name] = std::max(patched[name], extent);
        }
        timed |= spec.axes == product.timed.front();
        balanced |= spec.family == "patchwork" &&
                    std::ranges::all_of(spec.axes, [](const auto& one) { return one.second > 6; });
        uneven |= std::ranges::count_if(spec.axes, [](const auto& one) {
                    return one.second > 4 && one.second < 9;
                  }) == 2;
      }
      for (const auto& [name, met] : extents) {
        INFO(name);
        CHECK(*met.rbegin() >= 130);
        CHECK(patched[name] >= 130);
        CHECK(met.size() >= 6);
      }
      CHECK(timed);
      CHECK(balanced);
      CHECK(uneven);
    }
  }
}

TEST_CASE("the rules of axes are kept", "[judge]") {
  auto problem = softmax_problem();
  problem.axes[0].minimum = 2;
  problem.axes[0].maximum = 40;
  problem.axes[1].multiple_of = 48;
  problem.axes[1].minimum = 48;
  problem.axes[1].maximum = 1000;
  Axis depth;
  depth.name = "depth";
  depth.fixed = 3;
  problem.axes.push_back(depth);
  problem.inputs[0].shape.push_back({1, "depth"});
  problem.timed = {{{"rows", 40}, {"cols", 960}, {"depth", 3}}};
  for (const auto& spec : judge::derive_cases(problem, floats, 5)) {
    const auto rows = spec.axes.at("rows");
    const auto cols = spec.axes.at("cols");
    CHECK((rows >= 2 && rows <= 40));
    CHECK((cols >= 48 && cols <= 1000 && cols % 48 == 0));
    CHECK(spec.axes.at("depth") == 3);
    CHECK(rows * cols * 3 <= 1 << 18);
  }
}

TEST_CASE("the first timed cell is swept, cut to size, and no other case is large", "[judge]") {
  auto problem = softmax_problem();
  problem.timed = {{{"rows", 8192}, {"cols", 8192}}};
  std::map<DType, std::vector<std::string>> large;
  for (const auto& spec : judge::derive_cases(problem, {DType::int32, DType::float64}, 3)) {
    const auto elements = spec.axes.at("rows") * spec.axes.at("cols");
    CHECK((elements <= 65536 || elements == 1 << 18));
    if (elements > 65536) large[spec.dtype].push_back(spec.family);
  }
  // One of the two dtypes has a family of the seed's throughout; integers never.
  CHECK(large[DType::int32] == std::vector<std::string>{"normal", "scattered"});
  auto& real = large[DType::float64];
  CHECK((real.size() == 2 || real.size() == 3));
  real.resize(2);
  CHECK(real == std::vector<std::string>{"normal", "scattered"});
}

TEST_CASE("seeds decide everything and nothing else does", "[judge]") {
  const auto problem = softmax_problem();
  const auto a = judge::derive_cases(problem, floats, 11);
  const auto b = judge::derive_cases(problem, floats, 11);
  const auto c = judge::derive_cases(problem, floats, 12);
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].seed == b[i].seed);
    CHECK(a[i].axes == b[i].axes);
    CHECK(a[i].id == static_cast<int>(i));
    CHECK(a[i].seed != c[i].seed);
    if (a[i].family != "again") seeds.insert(a[i].seed);
  }
  CHECK(seeds.size() == a.size() - floats.size());
}

TEST_CASE("inputs come again but for one number in one row of eight", "[judge]") {
  const auto problem = softmax_problem();
  const auto specs = judge::derive_cases(problem, floats, 3);
  int met = 0;
  for (std::size_t i = 1; i < specs.size(); ++i) {
    if (specs[i].family != "again") continue;
    ++met;
    CHECK(specs[i - 1].family == "normal");
    CHECK(specs[i - 1].axes == specs[i].axes);
    const auto draw = [&](const judge::CaseSpec& spec) {
      const auto into =
          judge::empty({spec.axes.at("rows"), spec.axes.at("cols")}, scalar_type(spec.dtype));
      judge::draw_input(problem, spec, 0, 0, into);
      return into;
    };
    const auto changed = draw(specs[i - 1]).ne(draw(specs[i])).sum(-1);
    CHECK(changed.le(1).all().item().toBool());
    const auto rows = specs[i].axes.at("rows");
    const auto others = changed.sum().item().toLong();
    CHECK(others >= std::max<std::int64_t>(1, rows / 8));
    CHECK(others <= (rows + 7) / 8);
  }
  CHECK(met == 3);
}

TEST_CASE("long rows of images meet no others", "[judge]") {
  // Who reads numbers from 0 to 1 in 8 bits: beside rows with a large mean it is not seen.
  const auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    return Tensors{(in[0] - in[0].mean(-1, true)) / (in[0].var(-1, false, true) + 1e-5).sqrt()};
  });
  const auto specs = judge::derive_cases(problem, {DType::float32, DType::float16}, 5);
  std::set<DType> met;
  for (const auto& spec : specs) {
    if (spec.family != "uniform" || spec.axes.at("cols") < 4097) continue;
    met.insert(spec.dtype);
    if (spec.dtype != DType::float32) continue;
    const auto one = judge::realise(problem, spec);
    const auto coarse = (one.inputs[0] * 256).round() / 256;
    const auto read = at::where(one.inputs[0].ge(0).all(-1, true), coarse, one.inputs[0]);
    const auto made = problem.reference({read});
    CHECK(judge::compare(problem, one, made).status == "failed");
    CHECK(judge::compare(problem, one, problem.reference(one.inputs)).status == "passed");
  }
  CHECK(met.size() == 2);
}

TEST_CASE("some rows are nearly normalised", "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 512}, {"cols", 200}}, "uniform", 5};
  const auto x = judge::empty({512, 200}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, x);
  const auto near = [](const at::Tensor& size) {
    const auto off = (size - 1.0).abs();
    return off.lt(0x1p-6).logical_and(off.gt(0x1p-13)).sum().item().toLong();
  };
  const auto wide = x.to(at::kDouble);
  const auto sums = near(wide.abs().sum(-1));
  const auto lengths = near(wide.square().sum(-1).sqrt());
  CHECK((sums > 30 && sums < 100));
  CHECK((lengths > 30 && lengths < 100));
}

TEST_CASE("rows are padded at one end, in between, and at both", "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 1024}, {"cols", 200}}, "uniform", 5};
  const auto into = judge::empty({1024, 200}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, into);
  int at_first = 0, between = 0, at_both = 0;
  for (std::int64_t row = 0; row < 1024; ++row) {
    const auto* v = into.const_data_ptr<float>() + 200 * row;
    const auto [least, most] = std::minmax_element(v, v + 200);
    // None below zero, none above, or within one.
    if (*least >= 0 || *most <= 0 || (*least >= -1 && *most <= 1)) continue;
    const bool first = v[0] == v[1];
    if (v[0] == v[199]) {
      ++at_both;
      CHECK(v[0] == v[100]);
    } else {
      CHECK(std::adjacent_find(v, v + 200) != v + 200);
      ++(first ? at_first : between);
    }
  }
  CHECK(at_first > 20);
  CHECK(between > 20);
  CHECK(at_both > 20);
}

TEST_CASE("whatever the seed, some row that is not all zeros has them at both ends", "[judge]") {
  // Where each row drew a form of its own, the cheat `zero_prefix` was accepted by 7 seeds of 250.
  const auto problem = softmax_problem();
  constexpr std::int64_t looked_at = 16;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    bool met = false;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, seed)) {
      const auto rows = spec.axes.at("rows");
      const auto cols = spec.axes.at("cols");
      if (spec.family != "uniform" || cols < 4 * looked_at) continue;
      const auto x = judge::empty({rows, cols}, at::kFloat);
      judge::draw_input(problem, spec, 0, 0, x);
      const auto zero = x.eq(0);
      const auto both = zero.narrow(1, 0, looked_at)
                            .all(-1)
                            .logical_and(zero.narrow(1, cols - looked_at, looked_at).all(-1))
                            .logical_and(zero.all(-1).logical_not());
      met = met || both.any().item().toBool();
    }
    INFO("seed " << seed);
    CHECK(met);
  }
}

TEST_CASE("the first of ordinary rows are alike, and large ones stand at both ends", "[judge]") {
  const auto problem = softmax_problem();
  int first = 0, last = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 20}, {"cols", 50}}, "uniform", seed};
    const auto into = judge::empty({20, 50}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    CHECK(into[1].equal(into[0]));
    CHECK_FALSE(into.eq(into[0]).all(-1).all().item().toBool());
    spec.family = "spike";
    judge::draw_input(problem, spec, 0, 0, into);
    const auto at = into.argmax(-1);
    first += static_cast<int>(at.eq(0).sum().item().toLong());
    last += static_cast<int>(at.eq(49).sum().item().toLong());
  }
  CHECK((first > 10 && first < 60));
  CHECK((last > 10 && last < 60));
}

TEST_CASE("large numbers may lie a power of two apart, all of one sign", "[judge]") {
  const auto problem = softmax_problem();
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    // Few rows: none is of another family.
    const judge::CaseSpec spec{
        0, DType::float32, {{"rows", 1}, {"cols", 16000}}, "scattered", seed};
    const auto into = judge::empty({1, 16000}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    std::vector<std::int64_t> large;
    for (std::int64_t i = 0; i < 16000; ++i) {
      const float v = into[0][i].item<float>();
      if (std::abs(v) >= 64.0F && std::abs(v) < 64.0F * 4.5F) large.push_back(i);
    }
    for (const std::int64_t stride : {32, 64, 128, 256, 512, 1024}) {
      int alike = 0;
      for (const auto at : large) {
        const auto next = (at + stride) % 16000;
        alike += into[0][at].item<float>() * into[0][next].item<float>() > 64.0F * 64.0F;
      }
      if (alike == 7) ++apart;
    }
  }
  CHECK((apart > 15 && apart < 45));
}

TEST_CASE("all of a weight but one may do nothing", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs.resize(3, problem.inputs[0]);
  CHECK(std::ranges::count(judge::derive_cases(problem, floats, 7), "idle",
                           &judge::CaseSpec::family) == 0);
  for (const std::size_t i : {1, 2}) problem.inputs[i].parameter = true;
  CHECK(std::ranges::count(judge::derive_cases(problem, floats, 7), "idle",
                           &judge::CaseSpec::family) == 3);
  std::set<std::int64_t> places;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 1}, {"cols", 40}}, "idle", seed};
    for (const std::size_t i : {1, 2}) {
      const auto into = judge::empty({1, 40}, at::kFloat);
      judge::draw_input(problem, spec, i, 0, into);
      const auto others = into.ne(i == 1 ? 1.0 : 0.0);
      CHECK(others.sum().item<int>() == 1);
      places.insert(others.to(at::kInt).argmax().item<std::int64_t>());
    }
  }
  CHECK(places.size() > 20);
}

TEST_CASE("a few weights are far from one together, and one alone may do nothing", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs[0].parameter = true;
  const auto draw = [&](const char* family, std::int64_t count, std::uint64_t seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 1}, {"cols", count}}, family, seed};
    const auto into = judge::empty({1, count}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    return into;
  };
  int large = 0;
  int small = 0;
  int idle = 0;
  constexpr int seeds = 200;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    large += draw("patchwork", 4, seed).abs().ge(3).all().item<bool>();
    small += draw("uniform", 4, seed).abs().le(0.3).all().item<bool>();
    CHECK_FALSE(draw("normal", 4, seed).abs().ge(3).all().item<bool>());
    CHECK_FALSE(draw("patchwork", 40, seed).abs().ge(3).all().item<bool>());
    idle += draw("idle", 1, seed).eq(1).all().item<bool>();
  }
  // Half of them by one of eight powers of two, two of which are as large.
  CHECK((large > seeds / 24 && large < seeds / 6));
  CHECK((small > seeds / 24 && small < seeds / 4));
  CHECK((idle > seeds / 3 && idle < 2 * seeds / 3));
}

TEST_CASE("a length that is alone is of any size", "[judge]") {
  Problem problem = softmax_problem();
  problem.axes.front().maximum = 1 << 16;
  problem.inputs = {lengths_of({{1, ""}})};
  int shorter = 0;
  constexpr int seeds = 200;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 1}, {"cols", 8192}}, "uniform", seed};
    const auto into = judge::empty({1}, at::kInt);
    judge::draw_input(problem, spec, 0, 0, into);
    CHECK((into.item<int>() >= 0 && into.item<int>() <= 8192));
    shorter += into.item<int>() < 64;
  }
  CHECK((shorter > seeds / 8 && shorter < seeds / 2));
}

TEST_CASE("a row has infinities of both signs, or one and what is no number", "[judge]") {
  auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 40}}, "nan_and_inf", 3};
  const auto into = judge::empty({64, 40}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, into);
  const auto above = into.eq(INFINITY).any(1);
  const auto below = into.eq(-INFINITY).any(1);
  const auto nan = into.ne(into).any(1);
  const auto rows = [](const at::Tensor& which) { return which.sum().item<int>(); };
  CHECK(rows(above.logical_and(below)) >= 12);
  CHECK(rows(above.logical_or(below).logical_and(nan)) >= 12);
  CHECK(rows(above.logical_or(below).logical_or(nan)) == 32);
}

TEST_CASE("tables of angles begin with ones or zeros, in half of the cases", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs.resize(1);
  problem.inputs[0].values = Values::angle;
  problem.inputs.push_back(problem.inputs[0]);
  std::map<std::pair<float, float>, int> begin;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 4}, {"cols", 9}}, "tiny", seed};
    float firsts[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const auto into = judge::empty({4, 9}, at::kFloat);
      judge::draw_input(problem, spec, i, 0, into);
      firsts[i] = *into.const_data_ptr<float>();
      const bool exact = firsts[i] == 0.0F || firsts[i] == 1.0F;
      CHECK(into.eq(firsts[i]).sum().item().toLong() == (exact ? 9 : 1));
    }
    ++begin[{firsts[0], firsts[1]}];
  }
  for (const float cosine : {0.0F, 1.0F}) {
    for (const float sine : {0.0F, 1.0F}) CHECK(begin[std::pair(cosine, sine)] > 3);
  }
}

TEST_CASE("what has one dimension is of many families too", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs[0].shape = {{1, "cols"}};
  const auto draw = [&](const std::string& family, std::uint64_t seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 1}, {"cols", 1000}}, family, seed};
    const auto into = judge::empty({1000}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    return into.to(at::kDouble);
  };
  const auto patchwork = draw("patchwork", 1);
  CHECK(patchwork.slice(0, 960).abs().max().item().toDouble() <
        3.5);  // Less than a stretch is left.
  CHECK(patchwork.max().item().toDouble() > 1000.0);
  CHECK(patchwork.abs().lt(0x1p-8).sum().item().toLong() > 40);
  // A single row is of one kind of its family, by the seed.
  int constant = 0, whole = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto numbers = draw("equal", seed);
    constant += numbers.eq(numbers[500]).sum().item().toLong() >= 999;
    whole += numbers.eq(0.0).sum().item().toLong() > 100;
  }
  CHECK(constant + whole == 40);
  CHECK((constant > 8 && whole > 8));
}

TEST_CASE("ends and the middle are equal where not all is", "[judge]") {
  const auto problem = softmax_problem();
  for (const std::int64_t rows : {2, 3, 4, 7, 16, 33, 64}) {
    int equal = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const judge::CaseSpec spec{0, DType::float32, {{"rows", rows}, {"cols", 64}}, "equal", seed};
      const auto into = judge::empty({rows, 64}, at::kFloat);
      judge::draw_input(problem, spec, 0, 0, into);
      const auto flat = into.view(-1);
      const auto same = flat.eq(flat[0]);
      CHECK_FALSE(same.all().item().toBool());
      equal += same[flat.numel() / 2].item().toBool() && same[-1].item().toBool() ? 1 : 0;
    }
    CAPTURE(rows);
    CHECK(equal > 5);  // The one other number of a row may stand there.
  }
}

TEST_CASE("one number of a row has another sign", "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 16}, {"cols", 64}}, "odd_sign", 3};
  const auto into = judge::empty({16, 64}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, into);
  const auto below = into.lt(0.0).sum(1);
  const auto few = at::minimum(below, 64 - below);
  CHECK(few.eq(1).all().item().toBool());
  const auto negative = below.gt(32).sum().item().toLong();
  CHECK((negative > 3 && negative < 13));
}

TEST_CASE("what is scattered is ordinary nearly everywhere", "[judge]") {
  auto problem = softmax_problem();
  int last = 0, first = 0, lowest = 0;
  std::set<std::int64_t> rows;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 200}, {"cols", 64}}, "scattered", seed};
    const auto into = judge::empty({200, 64}, at::kFloat);
    const auto plain = judge::empty({200, 64}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    auto ordinary = spec;
    ordinary.family = "normal";
    judge::draw_input(problem, ordinary, 0, 0, plain);
    const auto changed = into.ne(plain).sum(1);
    const auto others = changed.gt(32).sum().item().toLong();
    CHECK(others <= 4);
    CHECK(changed.gt(0).sum().item().toLong() <= 4 + 9);
    rows.insert(others);
    // One is beyond all others, often near an end.
    const auto flat = into.view(-1).abs();
    const auto at = flat.argmax().item().toLong();
    CHECK(flat.eq(flat[at]).sum().item().toLong() == 1);
    last += at >= 200 * 64 - 64;
    first += at < 64;
    lowest += into.view(-1)[at].item().toFloat() < 0;
  }
  CHECK(*rows.rbegin() >= 3);
  CHECK((last > 15 && first > 5 && lowest > 15 && lowest < 45));
  // Of one dimension stretches are rows; and what has few rows has some numbers at least.
  problem.inputs[0].shape = {{1, "cols"}};
  for (const std::int64_t cols : {1, 2, 100, 6400}) {
    const judge::CaseSpec spec{0, DType::float32, {{"cols", cols}}, "scattered", 5};
    const auto into = judge::empty({cols}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    CHECK(into.abs().max().item().toDouble() > 1.0);
    CHECK(into.abs().lt(3.5).sum().item().toLong() > cols * 3 / 4 - 6);
  }
}

TEST_CASE("twins differ by one number in each row", "[judge]") {
  auto problem = softmax_problem();
  CHECK(!judge::has_twins(problem));
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  CHECK(judge::has_twins(problem));
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 9}, {"cols", 64}}, "twins", 5};
  Tensors drawn = {judge::empty({9, 64}, at::kFloat), judge::empty({9, 64}, at::kFloat)};
  for (std::size_t i = 0; i < 2; ++i) judge::draw_input(problem, spec, i, 0, drawn[i]);
  CHECK(drawn[0].ne(drawn[1]).sum(1).eq(1).all().item().toBool());
  // Parameters, and inputs of another shape, have no twin.
  problem.inputs[1].parameter = true;
  CHECK(!judge::has_twins(problem));
  problem.inputs[1].parameter = false;
  problem.inputs[1].shape.pop_back();
  CHECK(!judge::has_twins(problem));
}

TEST_CASE("of several inputs one may be absent", "[judge]") {
  const auto absent = [](const Problem& problem) {
    auto cases = judge::derive_cases(problem, {DType::float32}, 5);
    std::erase_if(cases, [](const auto& one) { return one.family != "absent"; });
    return cases;
  };
  auto problem = softmax_problem();
  CHECK(absent(problem).empty());
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  const auto cases = absent(problem);
  REQUIRE(cases.size() == 2);
  std::set<bool> first;
  for (const auto& spec : cases) {
    Tensors drawn = judge::draw(problem, spec, 0);
    const bool none = drawn[0].eq(0).all().item().toBool();
    CHECK(drawn[none ? 1 : 0].ne(0).all().item().toBool());
    CHECK(drawn[none ? 0 : 1].eq(0).all().item().toBool());
    first.insert(none);
  }
  CHECK(first.size() == 2);
  problem.inputs[1].parameter = true;
  CHECK(absent(problem).empty());
}

TEST_CASE("what is not finite may be in one of several inputs", "[judge]") {
  auto problem = softmax_problem();
  problem.policies.nan_meaningful = problem.policies.inf_meaningful = true;
  problem.timed = {{{"rows", 16}, {"cols", 64}}};
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  std::map<std::string, std::set<std::int64_t>> first;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 5)) {
    if (!spec.family.starts_with("lone_")) continue;
    std::vector<std::int64_t> counts;
    for (const auto& drawn : judge::draw(problem, spec, 0)) {
      counts.push_back(drawn.isfinite().logical_not().sum().item().toLong());
    }
    CHECK(counts[0] + counts[1] == 1);
    first[spec.family].insert(counts[0]);
  }
  for (const auto* family : {"lone_nan", "lone_inf", "lone_minus_inf"}) {
    CAPTURE(family);
    CHECK(first[family].size() == 2);
  }
}

TEST_CASE("indices come as sequences have them", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs[0].values = Values::index;
  problem.inputs[0].dtype = DType::int64;
  problem.inputs[0].index_axis = "cols";
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 40}, {"cols", 50}}, "patchwork", 5};
  const auto into = judge::empty({40, 50}, at::kLong);
  judge::draw_input(problem, spec, 0, 0, into);
  const auto counts = into.slice(0, into[0][1].item().toLong() == 1 ? 0 : 1, 40, 2);
  const auto others = into.slice(0, into[0][1].item().toLong() == 1 ? 1 : 0, 40, 2);
  // Positions: up by one, or from zero again at one place.
  const auto steps = counts.diff().ne(1);
  CHECK(steps.sum(1).le(1).all().item().toBool());
  CHECK(steps.sum().item().toLong() > 15);
  CHECK(counts.slice(1, 1).masked_select(steps).eq(0).all().item().toBool());
  // One value, and from some place on another.
  const auto runs = others.diff().ne(0).sum(1);
  CHECK((runs.le(1).all().item().toBool() && runs.sum().item().toLong() > 15));
}

TEST_CASE("each axis is one beside longer ones, and pairs of axes are alike", "[judge]") {
  auto problem = softmax_problem();
  const std::vector<std::string> names = {"batch", "heads", "rows", "cols"};
  problem.axes.clear();
  problem.inputs[0].shape.clear();
  for (const auto& name : names) {
    problem.axes.push_back({name});
    problem.inputs[0].shape.push_back({1, name});
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto cases = judge::derive_cases(problem, floats, seed);
    // Whether some case has the same extent, or one, along these axes, and others along the rest.
    const auto met = [&](const std::vector<std::string>& along, bool unit) {
      return std::ranges::any_of(cases, [&](const judge::CaseSpec& one) {
        const auto extent = one.axes.at(along.front());
        std::set<std::int64_t> rest;
        for (const auto& name : names) {
          const bool chosen = std::ranges::find(along, name) != along.end();
          if (chosen && one.axes.at(name) != extent) return false;
          if (!chosen) rest.insert(one.axes.at(name));
        }
        const bool apart = rest.size() == names.size() - along.size() && !rest.contains(extent);
        return apart && !rest.contains(1) && !rest.contains(0) && (extent == 1) == unit &&
               one.family == "normal";
      });
    };
    int equal = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      CHECK(met({names[i]}, true));
      for (std::size_t k = i + 1; k < names.size(); ++k) {
        CHECK(met({names[i], names[k]}, true));
        equal += met({names[i], names[k]}, false);
      }
    }
    CHECK(equal >= 3);
    problem.axes[1].minimum = 2;
    CHECK(std::ranges::none_of(judge::derive_cases(problem, floats, seed),
                               [](const auto& one) { return one.axes.at("heads") == 1; }));
    problem.axes[1].minimum = 0;
  }
}

TEST_CASE("families are what their names say", "[judge]") {
  const auto problem = softmax_problem();
  const auto draw = [&](const std::string& family, DType dtype) {
    judge::CaseSpec spec{0, dtype, {{"rows", 8}, {"cols", 64}}, family, 99};
    const auto tensor = judge::empty({8, 64}, scalar_type(dtype));
    draw_into(problem, spec, {tensor});
    const auto real = tensor.to(at::kDouble);
    return std::vector<double>(real.const_data_ptr<double>(),
                               real.const_data_ptr<double>() + real.numel());
  };
  const auto largest = [](const std::vector<double>& v) {
    return std::abs(*std::max_element(
        v.begin(), v.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  };
  for (const auto dtype : floats) {
    const double normal = largest(draw("normal", dtype));
    CHECK((normal > 1.0 && normal < 4.0));
    CHECK(largest(draw("x64", dtype)) == Approx(64.0 * normal).epsilon(1e-2));
    auto spread = draw("spread", dtype);
    int alone = 0;
    for (auto row = spread.begin(); row != spread.end(); row += 64) {
      std::sort(row, row + 64, [](double a, double b) { return std::abs(a) > std::abs(b); });
      if (std::abs(row[1]) > 4.0) continue;  // Times three and more.
      ++alone;
      CHECK((row[0] > std::log(64.0) + 3.9 && row[0] < std::log(64.0) + 11.1));
    }
    CHECK(alone == 4);
    const auto equal = draw("equal", dtype);
    CHECK(std::all_of(equal.begin(), equal.begin() + 64,
                      [&](double v) { return v == equal.front(); }));
    const std::set<double> but_one(equal.begin() + 64, equal.begin() + 128);
    CHECK((but_one.size() == 2 && *but_one.rbegin() > *but_one.begin() + 0.9));
    const auto sorted = draw("sorted", dtype);
    CHECK(std::is_sorted(sorted.begin(), sorted.begin() + 64));
    // The largest number of the second row is where it should not be.
    const auto top = std::max_element(sorted.begin() + 64, sorted.begin() + 128);
    CHECK((*top > 90.0 && top != sorted.begin() + 127));
    const auto bottom = std::min_element(sorted.begin() + 64, sorted.begin() + 128);
    CHECK((*bottom < -90.0 && bottom != sorted.begin() + 64));
    const auto spike = draw("spike", dtype);
    CHECK(std::count_if(spike.begin(), spike.begin() + 64,
                        [](double v) { return v >= 8.0 && v <= 32.0; }) == 1);
    const auto tiny_ones = [&](std::size_t row) {
      return std::count_if(spike.begin() + 64 * row, spike.begin() + 64 * (row + 1),
                           [](double v) { return std::abs(v) < 0.06; });
    };
    CHECK((tiny_ones(0) == 63 && tiny_ones(1) == 62 && tiny_ones(2) < 16 && tiny_ones(3) < 16));
    const double tall = *std::max_element(spike.begin() + 64, spike.begin() + 128);
    CHECK(
        std::isinf(dtype == DType::float64 ? std::exp(tall) : std::exp(static_cast<float>(tall))));
    const auto far = draw("large_mean", dtype);
    CHECK(*std::min_element(far.begin(), far.begin() + 64) > 100.0);
    CHECK(*std::max_element(far.begin() + 64, far.begin() + 128) < -100.0);
    const auto bytes = draw("bytes", dtype);
    CHECK(std::ranges::all_of(
        bytes, [](double v) { return v == std::floor(v) && v >= 0.0 && v < 256.0; }));
    // A second row all but white, but not quite.
    const auto whites = std::count(bytes.begin() + 64, bytes.begin() + 128, 255.0);
    CHECK((whites > 48 && whites < 64 &&
           whites + std::count(bytes.begin() + 64, bytes.begin() + 128, 254.0) == 64));
    CHECK(std::set<double>(bytes.begin(), bytes.end()).size() > 150);
    const auto below = draw("far_below", dtype);
    const double depth = dtype == DType::float16 ? 32768.0 : 65536.0;
    const double deepest = dtype == DType::float16 ? depth : 32 * depth;
    CHECK(*std::ranges::max_element(below) <= -depth);
    CHECK(*std::ranges::min_element(below) > -2.0 * deepest);
    // A maximum that starts at a million below zero stays there.
    const auto second = std::span(below).subspan(64, 64);
    CHECK((dtype == DType::float16 || *std::ranges::max_element(second) < -2e6));
    const auto above = draw("far_above", dtype);
    CHECK(*std::ranges::min_element(above) >= depth);
    CHECK(*std::ranges::max_element(above) < 2.0 * deepest);
    const auto constant = draw("constant", dtype);
    CHECK(std::ranges::all_of(constant, [&](double v) { return v == constant.front(); }));
    const auto uniform = draw("uniform", dtype);
    CHECK(std::ranges::none_of(uniform, [](double v) { return v < -4.0 || v > 4.0; }));
    const auto common = draw("common_mean", dtype);
    CHECK(largest(common) > 100.0);
    CHECK(std::ranges::all_of(common, [&](double v) { return v * common.front() > 0.0; }));
    const double smallest_normal = dtype == DType::float16   ? 0x1p-14
                                   : dtype == DType::float32 ? 0x1p-126
                                                             : 0x1p-1022;
    const double denormal = largest(draw("denormal", dtype));
    CHECK((denormal > 0.0 && denormal < smallest_normal));
    const auto tiny = draw("tiny", dtype);
    CHECK(largest(tiny) < 0.02);
    CHECK(std::none_of(tiny.begin(), tiny.end(), [](double v) { return v == 0.0; }));
    const auto faint = draw("faint", dtype);
    const double each = largest({faint.begin(), faint.begin() + 64});
    CHECK((each < 0.02 && largest(faint) < 4.0 * each));
    // Ties of a few, of two largest ones, and a row that is the one above but for one element.
    const std::vector<double> third(equal.begin() + 128, equal.begin() + 192);
    const std::vector<double> fourth(equal.begin() + 192, equal.begin() + 256);
    const std::set<double> few(third.begin(), third.end());
    CHECK((few.size() > 3 && few.size() < 12 && few.count(0.0) == 1));
    CHECK(std::count(third.begin(), third.end(), *few.rbegin()) == 2);
    CHECK(std::inner_product(third.begin(), third.end(), fourth.begin(), 0, std::plus<>(),
                             std::not_equal_to<>()) == 1);
    // Two largest ones with little between them.
    std::vector<double> seventh(equal.begin() + 384, equal.begin() + 448);
    std::sort(seventh.begin(), seventh.end(), std::greater<>());
    CHECK((seventh[0] > 3.0 && seventh[0] < 3.1 && seventh[1] == 3.0));
  }
  const auto nan = draw("nan", DType::float32);
  const auto nans_in = [&nan](std::ptrdiff_t row) {
    return std::count_if(nan.begin() + 64 * row, nan.begin() + 64 * (row + 1),
                         [](double v) { return std::isnan(v); });
  };
  CHECK((nans_in(0) == 1 && nans_in(1) == 0 && nans_in(2) > 4 && nans_in(2) < 32));
  const auto inf = draw("inf", DType::float32);
  const auto infinite_in = [&inf](std::ptrdiff_t row) {
    return std::count_if(inf.begin() + 64 * row, inf.begin() + 64 * (row + 1),
                         [](double v) { return std::isinf(v); });
  };
  for (const auto row : {1, 3, 5, 7}) CHECK(infinite_in(row) == 0);
  for (const auto row : {0, 4}) CHECK(infinite_in(row) == 1);
  for (const auto row : {2, 6}) CHECK(infinite_in(row) < 64);
  CHECK(infinite_in(2) + infinite_in(6) > 2);
  const auto lone = [&](const char* family, auto&& is_one) {
    const auto drawn = draw(family, DType::float32);
    const auto odd = std::ranges::count_if(drawn, [](double v) { return !std::isfinite(v); });
    return odd == 1 && std::ranges::count_if(drawn, is_one) == 1;
  };
  CHECK(lone("lone_nan", [](double v) { return std::isnan(v); }));
  CHECK(lone("lone_inf", [](double v) { return std::isinf(v) && v > 0; }));
  CHECK(lone("lone_minus_inf", [](double v) { return std::isinf(v) && v < 0; }));
  CHECK_THROWS_AS(draw("nonsense", DType::float32), Error);
}

TEST_CASE("plain sums of long rows of one number are exact", "[judge]") {
  const auto problem = softmax_problem();
  for (const std::int64_t cols : {2500, 8192, 131072}) {
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
      // The first of several rows has no other number in it.
      const judge::CaseSpec spec{0, DType::float32, {{"rows", 2}, {"cols", cols}}, "equal", seed};
      const auto rows = judge::empty({2, cols}, at::kFloat);
      judge::draw_input(problem, spec, 0, 0, rows);
      const auto values = rows[0].to(at::kDouble);
      const double one = values[0].item().toDouble();
      CHECK(one != 0.0);
      CHECK((values == one).all().item().toBool());
      float squares = 0;
      for (std::int64_t i = 0; i < cols; ++i) squares += static_cast<float>(one * one);
      CHECK(squares == one * one * static_cast<double>(cols));
    }
  }
}

TEST_CASE("spikes are of many heights where nothing multiplies them with others", "[judge]") {
  using Heights = std::set<double>;
  const auto heights = [](const Problem& problem, DType dtype) {
    const judge::CaseSpec spec{0, dtype, {{"rows", 400}, {"cols", 64}}, "spike", 7};
    const auto into = judge::empty({400, 64}, scalar_type(dtype));
    judge::draw_input(problem, spec, 0, 0, into);
    Heights found;
    for (const auto& row : into.to(at::kDouble).unbind()) found.insert(row.max().item().toDouble());
    return found;
  };
  const auto alone = softmax_problem();
  const auto found = heights(alone, DType::float32);
  CHECK((found.size() > 40 && found.contains(32.0) && found.contains(0x1p14)));
  CHECK((*found.begin() >= 8.0 && *found.begin() < 9.0));  // The others' exponentials add up.
  CHECK((*found.rbegin() > 0x1p15 && *found.rbegin() < 0x1p16));
  CHECK(*heights(alone, DType::float16).rbegin() > 0x1p12);
  auto two = alone;
  two.inputs.push_back(two.inputs.front());
  const auto above_32 = [](const Heights& all) {
    return Heights(all.upper_bound(32.0), all.end());
  };
  CHECK((above_32(heights(two, DType::float32)) == Heights{0x1p14}));
  CHECK((above_32(heights(two, DType::float16)) == Heights{0x1p7}));
}

TEST_CASE("what lies beyond all others is still a number", "[judge]") {
  const auto problem = softmax_problem();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const judge::CaseSpec spec{0, DType::float16, {{"rows", 40}, {"cols", 50}}, "scattered", seed};
    const auto into = judge::empty({40, 50}, at::kHalf);
    judge::draw_input(problem, spec, 0, 0, into);
    CHECK(into.isfinite().all().item().toBool());
  }
}

TEST_CASE("indices may be a run of places, or a list of edges", "[judge]") {
  auto problem = softmax_problem();
  Input source = problem.inputs[0];
  source.shape = {{1, "rows"}};
  source.dtype = DType::int64;
  source.values = Values::index;
  source.index_axis = "cols";
  auto target = source;
  source.name = "source";
  target.name = "target";
  problem.inputs.insert(problem.inputs.end(), {source, target});
  const auto drawn = [&](const char* family, std::int64_t rows, std::int64_t cols) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", rows}, {"cols", cols}}, family, 4};
    return judge::draw(problem, spec, 0);
  };
  const auto run = drawn("x64", 40, 100);
  const auto first = run[1][0].item().toLong();
  CHECK(first > 0);
  CHECK(run[1].equal(at::arange(first, first + 40)));
  CHECK(drawn("x64", 40, 40)[1].equal(at::arange(0, 40)));
  const auto edges = drawn("odd_sign", 40, 100);
  CHECK(edges[1].equal(at::arange(-1, 39).clamp_min(0)));
  CHECK(edges[2].equal(at::arange(0, 40)));
}

TEST_CASE("lengths reach the whole extent, and padding stands among indices", "[judge]") {
  auto problem = softmax_problem();
  const auto lengths = lengths_of({{1, "rows"}, {1, "cols"}});
  Input targets = lengths;
  targets.name = "targets";
  targets.values = Values::index;
  targets.padding = -100;
  problem.inputs.insert(problem.inputs.end(), {lengths, targets});
  const auto drawn = [&](std::size_t input, const std::string& family, std::int64_t rows) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", rows}, {"cols", 9}}, family, 4};
    const auto into = judge::empty({rows, 9}, at::kInt);
    judge::draw_input(problem, spec, input, 0, into);
    return into;
  };
  for (const auto& family : judge::families(problem, DType::float32)) {
    INFO(family);
    const auto length = drawn(1, family, 200);
    CHECK((length.min().item<int>() >= 0 && length.max().item<int>() <= 9));
    if (family == "normal" || family == "spike") CHECK(length.max().item<int>() == 9);
    const auto index = drawn(2, family, 200);
    CHECK((index.ge(0).logical_and(index.lt(9)).logical_or(index.eq(-100)).all().item<bool>()));
    if (family == "equal") continue;
    const auto none = index.eq(-100);
    const auto share = none.to(at::kDouble).mean().item<double>();
    CHECK((share > 0.15 && share < 0.45));
    // Rows that are padded at their end have no index after the first that is none.
    const auto ends = none.select(1, 8).logical_and(none.logical_not().select(1, 0));
    CHECK(ends.sum().item<int>() > 40);
    CHECK(drawn(2, family, 1).ne(-100).any().item<bool>());
  }
}

TEST_CASE("zeros of both signs are drawn, also as the largest of a row, and keep theirs",
          "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 50}}, "uniform", 4};
  const auto x = judge::empty({64, 50}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, x);
  const auto zero = x.eq(0);
  const auto negative = x.signbit();
  CHECK(zero.logical_and(negative).sum().item<int>() > 50);
  CHECK(zero.logical_and(negative.logical_not()).sum().item<int>() > 50);
  const auto below = x.le(0).all(-1).logical_and(zero.logical_and(negative).any(-1));
  CHECK(below.any().item<bool>());
  for (const auto moves :
       {judge::Moves::together, judge::Moves::up, judge::Moves::by_place, judge::Moves::by_value}) {
    CHECK(judge::moved({x}, 0x1p-20, moves, 1).front().signbit().equal(negative));
    CHECK(judge::moved_by_operators({x}, 0x1p-20, moves, 1).front().signbit().equal(negative));
  }
}

TEST_CASE("what is not a number has every pattern, and is most of some rows, or all", "[judge]") {
  const auto problem = softmax_problem();
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 50}}, "nan", 4};
  const auto x = judge::empty({64, 50}, at::kFloat);
  judge::draw_input(problem, spec, 0, 0, x);
  const auto nan = x.isnan();
  const auto bits = x.view(at::kInt).masked_select(nan);
  std::set<std::uint32_t> seen;
  for (std::int64_t i = 0; i < bits.numel(); ++i) {
    seen.insert(static_cast<std::uint32_t>(bits[i].item<std::int32_t>()));
  }
  CHECK(seen == std::set<std::uint32_t>{0x7fc00000U, 0xffc00000U, 0x7fffffffU, 0xffffffffU});
  const auto count = nan.sum(-1);
  CHECK(count.gt(25).any().item<bool>());
  CHECK(count.eq(1).any().item<bool>());
  CHECK(count.eq(0).sum().item<int>() == 32);
  const auto whole = count.eq(50).sum().item<int>();
  CHECK((whole > 0 && whole < 20));
}

TEST_CASE("some lengths end with a block of any size", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs.push_back(lengths_of({{1, "rows"}}));
  for (const int extent : {7, 16, 1000, 1024, 4097}) {
    INFO(extent);
    const judge::CaseSpec spec{
        0, DType::float32, {{"rows", 400}, {"cols", extent}}, "patchwork", 4};
    const auto into = judge::empty({400}, at::kInt);
    judge::draw_input(problem, spec, 1, 0, into);
    CHECK((into.min().item<int>() >= 0 && into.max().item<int>() <= extent));
    for (int block = 16; block <= extent; block *= 2) {
      // By chance one of that many.
      const auto whole = into.gt(0).logical_and(into.remainder(block).eq(0));
      CHECK(whole.sum().item<int>() > 400 / block + 5);
    }
  }
}

TEST_CASE("offsets and permutations are some in every family, along every dimension", "[judge]") {
  auto problem = softmax_problem();
  auto offsets = lengths_of({{1, "rows"}, {1, "cols"}});
  offsets.name = "offsets";
  offsets.values = Values::offsets;
  auto order = offsets;
  order.name = "order";
  order.values = Values::permutation;
  problem.inputs.insert(problem.inputs.end(), {offsets, order});
  REQUIRE_NOTHROW(problem.check());
  const auto places = at::arange(9, at::kInt);
  const auto rows_of_one_part = [](const at::Tensor& ends) {
    return ends.diff().amax(1).eq(9).sum().item<std::int64_t>();
  };
  for (const auto& family : judge::families(problem, DType::float32)) {
    for (const std::string along : {"", "rows"}) {
      INFO(family << " along '" << along << "'");
      const judge::CaseSpec spec{0, DType::float32, {{"rows", 50}, {"cols", 9}}, family, 4, along};
      const auto drawn = [&](std::size_t input) {
        const auto into = judge::empty({50, 9}, at::kInt);
        judge::draw_input(problem, spec, input, 0, into);
        return into;
      };
      const auto ends = drawn(1);
      CHECK(ends.select(1, 0).eq(0).all().item<bool>());
      CHECK(ends.select(1, 8).eq(9).all().item<bool>());
      CHECK(ends.diff().ge(0).all().item<bool>());
      const auto turn = drawn(2);
      CHECK(std::get<0>(turn.sort(1)).eq(places).all().item<bool>());
      if (family != "normal") {
        CHECK(rows_of_one_part(ends) > 5);
        continue;
      }
      CHECK(rows_of_one_part(ends) < 5);
      CHECK(ends.diff().eq(0).any().item<bool>());
      CHECK(ends.diff().max().item<int>() > 3);
      // By chance one in nine stays where it is.
      CHECK(turn.eq(places).to(at::kDouble).mean().item<double>() < 0.2);
    }
  }
}

TEST_CASE("permutations may stand nearly as they were, with all groups' ends in place", "[judge]") {
  auto problem = softmax_problem();
  auto order = lengths_of({{1, "rows"}, {1, "cols"}});
  order.values = Values::permutation;
  problem.inputs.push_back(order);
  const auto places = at::arange(1000, at::kInt);
  for (const std::string family : {"uniform", "patchwork"}) {
    INFO(family);
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 40}, {"cols", 1000}}, family, 4, {}};
    const auto into = judge::empty({40, 1000}, at::kInt);
    judge::draw_input(problem, spec, 1, 0, into);
    CHECK(std::get<0>(into.sort(1)).eq(places).all().item<bool>());
    const auto moved = into.ne(places);
    CHECK(moved.any(1).all().item<bool>());
    const auto share = moved.to(at::kDouble).mean().item<double>();
    CHECK(share > (family == "uniform" ? 0.05 : 0.6));
    CHECK(share < (family == "uniform" ? 0.25 : 0.95));
    // Groups of 128 consist of whole ones of every other size.
    CHECK_FALSE(moved.slice(1, 0, {}, 128).any().item<bool>());
    CHECK_FALSE(moved.slice(1, 127, {}, 128).any().item<bool>());
    CHECK(moved.slice(1, 31, {}, 32).any().item<bool>());
  }
}

TEST_CASE("indices stay in range and reach both ends", "[judge]") {
  auto problem = softmax_problem();
  Input index;
  index.name = "index";
  index.shape = {{1, "rows"}};
  index.dtype = DType::int64;
  index.values = Values::index;
  index.index_axis = "cols";
  problem.inputs.push_back(index);
  for (const auto& family : judge::families(problem, DType::float32)) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 500}, {"cols", 9}}, family, 4};
    const auto into = judge::empty({500}, at::kLong);
    judge::draw_input(problem, spec, 1, 0, into);
    const auto* v = into.const_data_ptr<std::int64_t>();
    const auto [low, high] = std::minmax_element(v, v + 500);
    CHECK((*low >= 0 && *high <= 8));
    if (family == "spike" || family == "normal") CHECK((*low == 0 && *high == 8));
    if (family == "equal") CHECK(*low == *high);
    if (family == "mixed") CHECK(v[0] == v[1]);
  }
}

TEST_CASE("whole values have all sizes that their dtype has", "[judge]") {
  const auto problem = softmax_problem();
  for (const auto& [dtype, bits] : {std::pair{DType::int32, 32}, {DType::int64, 64}}) {
    const judge::CaseSpec spec{0, dtype, {{"rows", 64}, {"cols", 64}}, "mixed", 4};
    const auto into = judge::empty({64, 64}, scalar_type(dtype));
    judge::draw_input(problem, spec, 0, 0, into);
    const auto wide = into.to(at::kDouble);
    CHECK(wide.max().item().toDouble() > std::ldexp(1.0, bits - 2));
    CHECK(wide.min().item().toDouble() < -std::ldexp(1.0, bits - 2));
    CHECK(wide.abs().lt(100.0).sum().item().toLong() > 200);
    // Who begins a minimum at a million, or a maximum at as much below zero, stays there.
    const auto names = judge::families(problem, dtype);
    for (const auto* family : {"far_below", "far_above"}) {
      CHECK(std::ranges::find(names, family) != names.end());
      auto far = spec;
      far.family = family;
      judge::draw_input(problem, far, 0, 0, into);
      const auto size = family == names.back() ? into : into.neg();
      CHECK(size.min().item().toLong() > 2'000'000);
      CHECK(size.max().item().toLong() > size.min().item().toLong());
    }
  }
}

TEST_CASE("beside a mask of bools rows lie as far from zero as without", "[judge]") {
  auto problem = softmax_problem();
  Input mask = problem.inputs.front();
  mask.name = "mask";
  mask.dtype = DType::boolean;
  problem.inputs.push_back(mask);
  const auto names = judge::families(problem, DType::float32);
  const auto into = judge::empty({8, 64}, at::kFloat);
  for (const auto* family : {"far_below", "far_above"}) {
    CHECK(std::ranges::find(names, family) != names.end());
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 8}, {"cols", 64}}, family, 4};
    judge::draw_input(problem, spec, 0, 0, into);
    CHECK(into.abs().min().item().toDouble() >= 0x1p16);
  }
  problem.inputs.back().dtype = DType::float32;
  const auto of_two = judge::families(problem, DType::float32);
  CHECK(std::ranges::find(of_two, "far_above") == of_two.end());
}

TEST_CASE("weights do nothing at their ends and in the middle, in half of the cases", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs[0].parameter = true;
  problem.inputs[0].shape = {{1, "cols"}};
  std::map<double, int> idle;
  int nearly_one = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 1}, {"cols", 99}}, "normal", seed};
    const auto into = judge::empty({99}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, into);
    const auto* v = into.const_data_ptr<float>();
    const bool same = v[0] == v[1] && v[0] == v[49] && v[0] == v[96] && v[0] == v[98];
    if (same) ++idle[v[0]];
    CHECK(std::count(v, v + 99, v[0]) == (same ? 7 : 1));
    const auto scalar = judge::empty({1}, at::kFloat);
    judge::draw_input(problem, spec, 0, 0, scalar);
    const auto away = std::abs(*scalar.const_data_ptr<float>() - 1.0F);
    nearly_one += away > 0.0F && away < 0.1F;
  }
  CHECK((idle.size() == 2 && idle[0.0] > 8 && idle[1.0] > 8));
  CHECK(nearly_one > 8);
}

TEST_CASE("weights and positive inputs keep away from zero, angles within one", "[judge]") {
  auto problem = softmax_problem();
  problem.inputs[0].parameter = true;
  judge::CaseSpec spec{0, DType::float32, {{"rows", 50}, {"cols", 50}}, "tiny", 6};
  const auto into = judge::empty({50, 50}, at::kFloat);
  const auto each = [&](auto&& predicate) {
    draw_into(problem, spec, {into});
    const auto* v = into.const_data_ptr<float>();
    return std::all_of(v, v + 2500, predicate);
  };
  CHECK(each([](float v) { return std::abs(v) > 0x1p-5F && std::abs(v) < 0x1p4F; }));
  const auto* weights = into.const_data_ptr<float>();
  const auto usual = std::count_if(
      weights, weights + 2500, [](float v) { return std::abs(v) > 0.5F && std::abs(v) < 1.5F; });
  CHECK((usual > 2200 && usual < 2450));
  // A clamp of large ones is seen.
  CHECK(std::any_of(weights, weights + 2500, [](float v) { return std::abs(v) > 4.0F; }));
  problem.inputs[0].parameter = false;
  problem.inputs[0].values = Values::positive;
  CHECK(each([](float v) { return v > 0.0F; }));
  // Variances that a constant beside them must not hide.
  CHECK(std::any_of(weights, weights + 2500, [](float v) { return v < 1e-12F; }));
  problem.inputs[0].values = Values::angle;
  CHECK(each([](float v) { return v >= -1.0F && v <= 1.0F; }));
}

TEST_CASE("drawing into buffers gives what a realised case has", "[judge]") {
  const auto problem = softmax_problem();
  for (const auto& spec : judge::derive_cases(problem, floats, 21)) {
    if (spec.family != "normal") continue;
    const auto one = judge::realise(problem, spec);
    const auto into = at::Tensor(one.inputs[0].clone().zero_());
    draw_into(problem, spec, {into});
    CHECK(judge::same_bits(into, one.inputs[0]));
  }
}
