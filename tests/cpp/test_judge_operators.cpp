// The judge by LibTorch's operators, as it works on a GPU, against its loops for the host.

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <span>

#include "catch.hpp"
#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"
#include "judge/comparison/tally.hpp"
#include "judge/tolerance/binades.hpp"
#include "referee/device/race_memory.hpp"
#include "referee/distance.hpp"

using namespace ouroboros;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

at::Tensor normal(std::uint64_t key, std::vector<std::int64_t> shape) {
  auto tensor = judge::empty(shape, at::kDouble);
  judge::random::fill_normal(key, tensor);
  return tensor;
}

/// True values of many magnitudes, zeros, infinities and NaN.
at::Tensor awkward(std::uint64_t key, std::vector<std::int64_t> shape) {
  const auto exponents = (normal(key + 1, shape) * 40).round();
  auto made = normal(key, shape) * at::exp2(exponents);
  auto flat = made.view(-1);
  flat.slice(0, 3, std::nullopt, 97).fill_(infinity);
  flat.slice(0, 5, std::nullopt, 89).fill_(-infinity);
  flat.slice(0, 7, std::nullopt, 83).fill_(not_a_number);
  flat.slice(0, 11, std::nullopt, 79).fill_(0.0);
  return made;
}

void check_same(const judge::Tally& a, const judge::Tally& b, const at::Tensor& ratio) {
  CHECK(a.wrong == b.wrong);
  CHECK(a.worst_ratio == Approx(b.worst_ratio).epsilon(1e-14));
  CHECK(a.error == b.error);
  CHECK(a.reference_error == b.reference_error);
  REQUIRE((a.worst < 0) == (b.worst < 0));
  if (a.worst >= 0 && ratio.defined()) {
    CHECK(ratio.view(-1)[a.worst].item().toDouble() == ratio.view(-1)[b.worst].item().toDouble());
  }
}

}  // namespace

TEST_CASE("random bits are the same by operators") {
  const auto key = judge::random::key(17, 4);
  const auto made = judge::random::bits(key, 5, 1000, at::kCPU);
  for (std::int64_t i = 0; i < 1000; ++i) {
    REQUIRE(static_cast<std::uint64_t>(made.const_data_ptr<std::int64_t>()[i]) ==
            judge::random::bits(key, static_cast<std::uint64_t>(5 + i)));
  }
}

TEST_CASE("numbers move the same by operators, and equal ones alike where their value decides") {
  const Tensors inputs = {awkward(7, {37, 501}).to(at::kFloat), awkward(8, {1000}),
                          awkward(7, {501}).neg()};
  using judge::Moves;
  for (const auto moves : {Moves::together, Moves::by_place, Moves::by_value}) {
    for (const double by : {0x1p-18, -0x1p-18}) {
      const auto loops = judge::moved(inputs, by, moves, 5);
      const auto operators = judge::moved_by_operators(inputs, by, moves, 5);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        CHECK(judge::same_bits(loops[k], operators[k]));
        CHECK_FALSE(judge::same_bits(loops[k], inputs[k].to(at::kDouble)));
      }
    }
  }
  const auto there = judge::moved({normal(3, {1000})}, 0x1p-18, Moves::by_place, 5).front();
  const auto back = judge::moved({normal(3, {1000})}, -0x1p-18, Moves::by_place, 5).front();
  CHECK(((there > normal(3, {1000})) != (back > normal(3, {1000}))).all().item().toBool());
  const auto x = normal(3, {1000});
  const auto alike = judge::moved({x, x.flip(0), -x}, 0x1p-18, Moves::by_value, 5);
  CHECK(judge::same_bits(alike[0], alike[1].flip(0)));
  CHECK(judge::same_bits(alike[0], -alike[2]));
  const auto up = (alike[0].abs() > x.abs()).sum().item().toLong();
  CHECK((up > 400 && up < 600));
}

TEST_CASE("normal numbers are the same by operators") {
  constexpr std::size_t count = 100000;
  const auto key = judge::random::key(23, 1);
  std::vector<float> floats(count);
  std::vector<double> doubles(count);
  judge::random::normal(key, std::span<float>(floats));
  judge::random::normal(key, std::span<double>(doubles));
  const auto wanted = at::from_blob(floats.data(), {count}, at::kFloat);
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    auto made = judge::empty({100, 1000}, type);
    judge::random::fill_normal(key, made);
    CHECK(judge::same_bits(made.view(-1), wanted.to(type)));
  }
  auto wide = judge::empty({count}, at::kDouble);
  judge::random::fill_normal(key, wide);
  CHECK(judge::same_bits(wide, at::from_blob(doubles.data(), {count}, at::kDouble)));
}

TEST_CASE("many tensors are filled as each would be alone") {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 40; ++i) keys.push_back(judge::random::key(i, 3));
  // More in all than is made at once.
  const auto count = judge::elements_at_once / 40 + 1000;
  const auto same = [&](std::int64_t elements, at::ScalarType type, const auto& fill) {
    std::vector<at::Tensor> together;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      together.push_back(judge::empty({elements}, type));
    }
    fill(std::span<const std::uint64_t>(keys), std::span<const at::Tensor>(together));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, keys.size() - 1}) {
      const auto alone = judge::empty({elements}, type);
      fill(std::span(keys).subspan(i, 1), std::span(&alone, 1));
      CHECK(judge::same_bits(together[i], alone));
    }
  };
  const auto normal = [](auto all, auto into) { judge::random::fill_normal(all, into); };
  same(count, at::kFloat, normal);
  same(3, at::kHalf, normal);
  same(1000, at::kDouble, normal);
  same(1000, at::kFloat, [](auto all, auto into) { judge::random::fill_uniform(all, into); });
  same(1000, at::kLong, [](auto all, auto into) { judge::random::fill_below(all, 977, into); });
}

TEST_CASE("uniform numbers and indices are the same by operators") {
  const auto key = judge::random::key(31, 2);
  auto angles = judge::empty({50, 20}, at::kDouble);
  judge::random::fill_uniform(key, angles);
  auto indices = judge::empty({1000}, at::kInt);
  judge::random::fill_below(key, 50257, indices);
  for (std::int64_t i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    REQUIRE(angles.const_data_ptr<double>()[i] == 2.0 * judge::random::uniform(key, at) - 1.0);
    REQUIRE(indices.const_data_ptr<int>()[i] ==
            static_cast<int>(judge::random::below(key, at, 50257)));
  }
}

TEST_CASE("the tolerance learns the same by operators") {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    judge::Evidence evidence;
    evidence.oracle = awkward(1, {37, 501});
    evidence.reference = evidence.oracle.to(type);
    evidence.single = {evidence.oracle.to(at::kFloat)};
    evidence.loops = {awkward(13, {37, 501}).to(at::kFloat), evidence.oracle.to(at::kFloat)};
    evidence.moved = {evidence.oracle * (1 + judge::perturbation), awkward(9, {37, 501})};
    evidence.again = {awkward(11, {37, 501}), evidence.oracle * (1 + 0x1p-9)};
    evidence.longest = 501;
    if (type == at::kHalf) {  // Not all kinds are there each time.
      evidence.loops.clear();
      evidence.again.clear();
    }
    const judge::Errors errors(evidence);
    const auto loops = judge::measure(evidence.oracle, errors);
    const auto operators = judge::measure_by_operators(evidence.oracle, errors);
    CHECK(loops.largest == operators.largest);
    for (std::size_t b = 0; b < loops.each.size(); ++b) {
      REQUIRE(loops.each[b].count == operators.each[b].count);
      REQUIRE(loops.each[b].error == operators.each[b].error);
      REQUIRE(loops.each[b].single == operators.each[b].single);
      REQUIRE(loops.each[b].loops == operators.each[b].loops);
      REQUIRE(loops.each[b].moved == operators.each[b].moved);
    }
    const auto rule = judge::Tolerance::learn(evidence, errors);
    CHECK(judge::same_bits(rule.allowed(evidence.oracle),
                           rule.allowed_by_operators(evidence.oracle)));
  }
  const auto whole = at::arange(12).view({3, 4});
  CHECK(judge::same_bits(judge::Tolerance().allowed(whole),
                         judge::Tolerance().allowed_by_operators(whole)));
}

TEST_CASE("errors are counted the same by operators") {
  const auto truth = awkward(3, {129, 257});
  auto allowed = (truth.abs() * 0x1p-10).nan_to_num(0.0, 0.0, 0.0);
  allowed.view(-1)[2000] = std::numeric_limits<double>::infinity();  // Nothing is asked.
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    const auto made = truth.to(type);
    auto got = made.clone();
    const auto compare = [&] {
      check_same(judge::tally_errors(got, made, truth, allowed),
                 judge::tally_by_operators(got, made, truth, allowed), at::Tensor());
    };
    compare();
    got.view(-1)[1000] = 1e4;
    compare();
    got.view(-1)[1001] = not_a_number;
    compare();
    const auto wrong = judge::tally_by_operators(got, made, truth, allowed).wrong;
    got.view(-1)[2000] = not_a_number;
    compare();
    CHECK(judge::tally_by_operators(got, made, truth, allowed).wrong == wrong);
    got.view(-1)[3] = not_a_number;  // Infinity is expected.
    got.view(-1)[11] = -0.0;         // So is zero.
    got.view(-1)[7] = 1.0;           // NaN is expected.
    compare();
    CHECK(judge::tally_by_operators(got, made, truth, allowed).wrong >= 4);
  }
}

TEST_CASE("whole numbers are counted the same by operators") {
  // Neighbours that no float64 can tell apart.
  const auto truth = at::full({64}, std::int64_t{1} << 60, at::kLong);
  auto got = truth.clone();
  const auto allowed = at::zeros({64}, at::kDouble);
  CHECK(judge::tally_by_operators(got, truth, truth, allowed).wrong == 0);
  got[5] += 1;
  const auto loops = judge::tally_errors(got, truth, truth, allowed);
  const auto operators = judge::tally_by_operators(got, truth, truth, allowed);
  CHECK(loops.wrong == 1);
  check_same(loops, operators, at::Tensor());
  CHECK(operators.worst == 5);
}

TEST_CASE("distances are the same by operators") {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    const auto a = awkward(5, {40, 100}).to(type);
    auto b = a.clone();
    const auto same = [&] {
      const double loops = referee::largest_distance(a, b);
      CHECK(loops == referee::distance_by_operators(a, b));
      return loops;
    };
    CHECK(same() == 0.0);
    b.view(-1)[20] = 0.25;
    CHECK(same() > 0.0);
    b.view(-1)[21] = not_a_number;
    CHECK(std::isinf(same()));
  }
  CHECK(referee::distance_by_operators(at::empty({0}), at::empty({0})) == 0.0);
}

TEST_CASE("random numbers are the same on a GPU", "[gpu]") {
  const auto gpu = referee::device::shared_device({});
  REQUIRE(gpu.has_value());
  const auto key = judge::random::key(41, 3);
  const auto same = [&](at::ScalarType type, auto&& fill) {
    const auto here = judge::empty({300, 1001}, type);
    const auto there = judge::empty({300, 1001}, type, *gpu);
    fill(here);
    fill(there);
    CHECK(judge::same_bits(here, there.to(at::kCPU)));
  };
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    same(type, [&](const at::Tensor& into) { judge::random::fill_normal(key, into); });
    same(type, [&](const at::Tensor& into) { judge::random::fill_uniform(key, into); });
  }
  same(at::kInt, [&](const at::Tensor& into) { judge::random::fill_below(key, 50257, into); });
}
