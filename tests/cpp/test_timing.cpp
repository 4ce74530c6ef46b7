#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/timing.hpp"

namespace timing = ouroboros::timing;
using ouroboros_test::Approx;
using timing::Decision;
using timing::Mode;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Approx near(double value, double tolerance = 1e-12) {
  return Approx(value).epsilon(tolerance).margin(tolerance * 1e-3);
}

/// Runs `call` and returns whether it threw Error{invalid_argument}.
template <typename Call>
bool refuses(Call&& call) {
  try {
    call();
  } catch (const ouroboros::Error& error) {
    return error.code() == ouroboros::ErrorCode::invalid_argument;
  }
  return false;
}

/// centre + spread, centre - spread, ... : its mean is `centre` and trimming changes nothing.
std::vector<double> alternating(std::size_t count, double centre, double spread) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = centre + (i % 2 == 0 ? spread : -spread);
  return values;
}

std::vector<double> normal_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

std::vector<timing::GateRun> gate_runs(const std::vector<double>& ratios, double standard_error,
                                       const std::vector<double>& ratios_aa) {
  std::vector<timing::GateRun> runs;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    runs.push_back({ratios[i], standard_error, ratios_aa[i % ratios_aa.size()]});
  }
  return runs;
}

/// A gate that fails for one reason only, and that reason.
void check_only_reason(const timing::Gate& gate, const std::string& fragment) {
  INFO("expected: " << fragment);
  CHECK_FALSE(gate.passed);
  REQUIRE(gate.reasons.size() == 1);
  INFO("reason: " << gate.reasons.front());
  CHECK(gate.reasons.front().find(fragment) != std::string::npos);
}

}  // namespace

TEST_CASE("a block of two arms is ABBA or BAAB by a fair coin", "[timing]") {
  timing::BlockOrder order(2, 1);
  const int blocks = 10000;
  int candidate_first = 0;
  int repeated = 0;
  std::size_t before = 2;
  for (int i = 0; i < blocks; ++i) {
    const std::vector<std::size_t> slots = order.next();
    REQUIRE(slots.size() == 4);
    REQUIRE(slots[0] == slots[3]);
    REQUIRE(slots[1] == slots[2]);
    REQUIRE(slots[0] + slots[1] == 1);
    candidate_first += slots[0] == 0 ? 1 : 0;
    repeated += slots[0] == before ? 1 : 0;
    before = slots[0];
  }
  // Sd of the count is sqrt(10000)/2 = 50; five of them.
  CHECK(std::abs(candidate_first - blocks / 2) < 250);
  CHECK(std::abs(repeated - blocks / 2) < 250);
}

TEST_CASE("a block of three arms takes each permutation equally often", "[timing]") {
  timing::BlockOrder order(3, 5);
  std::map<std::vector<std::size_t>, int> seen;
  const int blocks = 12000;
  for (int i = 0; i < blocks; ++i) {
    std::vector<std::size_t> slots = order.next();
    REQUIRE(slots.size() == 6);
    REQUIRE(std::equal(slots.begin(), slots.begin() + 3, slots.rbegin()));
    slots.resize(3);
    ++seen[slots];
  }
  REQUIRE(seen.size() == 6);
  for (const auto& [permutation, count] : seen) {
    CHECK(std::abs(count - blocks / 6) < 210);  // sd 41
  }
}

TEST_CASE("a seed gives the same orders, another seed gives others", "[timing]") {
  timing::BlockOrder first(4, 42);
  timing::BlockOrder again(4, 42);
  timing::BlockOrder other(4, 43);
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const auto slots = first.next();
    CHECK(slots == again.next());
    differs = differs || slots != other.next();
  }
  CHECK(differs);
  CHECK(timing::BlockOrder(1, 0).next() == std::vector<std::size_t>{0, 0});
  CHECK(refuses([] { timing::BlockOrder(0, 1); }));
}

TEST_CASE("the log-ratio of a block is the difference of mean logarithms", "[timing]") {
  CHECK(timing::block_log_ratio(2.0, 8.0, 1.0, 1.0) == near(std::log(4.0)));
  CHECK(timing::block_log_ratio(3.0, 5.0, 5.0, 3.0) == near(0.0));
  // The unit cancels, and swapping the arms changes the sign.
  const double ratio = timing::block_log_ratio(1.1, 1.2, 1.3, 1.7);
  CHECK(timing::block_log_ratio(1.1e9, 1.2e9, 1.3e9, 1.7e9) == near(ratio));
  CHECK(timing::block_log_ratio(1.3, 1.7, 1.1, 1.2) == near(-ratio));
  CHECK_FALSE(std::isfinite(timing::block_log_ratio(0.0, 1.0, 1.0, 1.0)));
}

TEST_CASE("student t quantiles agree with reference values", "[timing]") {
  struct Row {
    double probability, degrees_of_freedom, quantile;
  };
  // scipy.stats.t.ppf, SciPy 1.17.1; checked against 40-digit arithmetic.
  static constexpr Row rows[] = {
      {1e-10, 0.5, -1.02849115631634e+19},      {0.005, 0.5, -4113.964588804181},
      {0.3, 0.5, -1.0095258786071655},          {0.6, 0.5, 0.3979754267847907},
      {0.975, 0.5, 164.55767348048818},         {0.995, 0.5, 4113.964588804174},
      {0.9999999, 0.5, 10284911573990.447},     {1e-10, 1.0, -3183098861.8379064},
      {0.005, 1.0, -63.65674116287158},         {0.3, 1.0, -0.7265425280053609},
      {0.6, 1.0, 0.32491969623290634},          {0.975, 1.0, 12.706204736174694},
      {0.995, 1.0, 63.656741162871526},         {0.9999999, 1.0, 3183098.8635132452},
      {1e-10, 2.0, -70710.67810804816},         {0.005, 2.0, -9.924843200918293},
      {0.3, 2.0, -0.6172133998483678},          {0.6, 2.0, 0.2886751345948128},
      {0.975, 2.0, 4.302652729749462},          {0.995, 2.0, 9.924843200918287},
      {0.9999999, 2.0, 2236.067642678063},      {1e-10, 4.0, -416.1751403296041},
      {0.005, 4.0, -4.604094871349993},         {0.3, 4.0, -0.5686490630497053},
      {0.6, 4.0, 0.2707222947075976},           {0.975, 4.0, 2.7764451051977934},
      {0.995, 4.0, 4.604094871349992},          {0.9999999, 4.0, 73.98575805751052},
      {1e-10, 7.0, -53.83557948467374},         {0.005, 7.0, -3.4994832973504932},
      {0.3, 7.0, -0.5491096579472854},          {0.6, 7.0, 0.2631668613520229},
      {0.975, 7.0, 2.364624251592784},          {0.995, 7.0, 3.4994832973504924},
      {0.9999999, 7.0, 19.93390224944619},      {1e-10, 13.0, -17.52315364675901},
      {0.005, 13.0, -3.0122758387165782},       {0.3, 13.0, -0.537504089536841},
      {0.6, 13.0, 0.2585908577117678},          {0.975, 13.0, 2.1603686564627913},
      {0.995, 13.0, 3.012275838716578},         {0.9999999, 13.0, 9.909156842133815},
      {1e-10, 25.0, -10.235577179214815},       {0.005, 25.0, -2.7874358136769706},
      {0.3, 25.0, -0.5311537895819286},         {0.6, 25.0, 0.2560596848271514},
      {0.975, 25.0, 2.0595385527532972},        {0.995, 25.0, 2.78743581367697},
      {0.9999999, 25.0, 7.084414911953284},     {1e-10, 51.0, -7.911277941118938},
      {0.005, 51.0, -2.675722234110648},        {0.3, 51.0, -0.5276942485618348},
      {0.6, 51.0, 0.25467274914924215},         {0.975, 51.0, 2.007583770315836},
      {0.995, 51.0, 2.6757222341106477},        {0.9999999, 51.0, 6.00699535826327},
      {1e-10, 103.0, -7.06046048544353},        {0.005, 103.0, -2.6244067580299557},
      {0.3, 103.0, -0.5260273426498077},        {0.6, 103.0, 0.25400249025910604},
      {0.975, 103.0, 1.9832641447734565},       {0.995, 103.0, 2.6244067580299557},
      {0.9999999, 103.0, 5.574927572428039},    {1e-10, 205.0, -6.697417998890272},
      {0.005, 205.0, -2.600024105407084},       {0.3, 205.0, -0.5252168985357015},
      {0.6, 205.0, 0.2536761466443312},         {0.975, 205.0, 1.971603499264511},
      {0.995, 205.0, 2.6000241054070834},       {0.9999999, 205.0, 5.382473762617592},
      {1e-10, 100000.0, -6.362000419843692},    {0.005, 100000.0, -2.5758784699083757},
      {0.3, 100000.0, -0.5244021842335457},     {0.6, 100000.0, 0.25334777715718015},
      {0.975, 100000.0, 1.9599877075346095},    {0.995, 100000.0, 2.575878469908375},
      {0.9999999, 100000.0, 5.199701988462917},
  };
  for (const Row& row : rows) {
    INFO(row.probability << " at " << row.degrees_of_freedom);
    const double quantile = timing::student_t_quantile(row.probability, row.degrees_of_freedom);
    CHECK(std::abs(quantile / row.quantile - 1.0) < 1e-9);
  }
  CHECK(timing::student_t_quantile(0.5, 3.0) == 0.0);
  // In closed form: df = 1 is tan(pi (p - 1/2)); df = 2 is (2p - 1) sqrt(2 / (4p (1 - p))).
  CHECK(timing::student_t_quantile(0.75, 1.0) == near(1.0));
  CHECK(timing::student_t_quantile(0.75, 2.0) == near(0.5 * std::sqrt(2.0 / 0.75)));
  // Far out, and the normal limit.
  CHECK(timing::student_t_quantile(0.975, 3e6) == near(1.9599647752974443, 1e-9));
  CHECK(timing::student_t_quantile(0.005, 1e6) == near(-2.5758342201053344, 1e-9));
  CHECK(timing::student_t_quantile(0.975, 1e12) == near(1.959963984540054, 1e-9));
}

TEST_CASE("student t quantiles are odd, rise with probability and shrink with freedom",
          "[timing]") {
  for (const double df : {0.7, 1.0, 3.0, 12.5, 80.0, 4000.0}) {
    double before = -kInfinity;
    for (int i = 1; i < 128; ++i) {
      const double p = i / 128.0;  // exact in binary, and so is 1 - p
      const double quantile = timing::student_t_quantile(p, df);
      CHECK(quantile > before);
      CHECK(quantile == -timing::student_t_quantile(1.0 - p, df));
      if (p > 0.5) CHECK(quantile > timing::student_t_quantile(p, 2.0 * df));
      before = quantile;
    }
  }
  for (const double p : {0.0, 1.0, -0.1, 1.1, std::nan("")}) {
    CHECK(refuses([p] { (void)timing::student_t_quantile(p, 5.0); }));
  }
  for (const double df : {0.0, -1.0, kInfinity, std::nan("")}) {
    CHECK(refuses([df] { (void)timing::student_t_quantile(0.9, df); }));
  }
}

TEST_CASE("the trimmed mean of ten numbers, by hand", "[timing]") {
  // One value goes from each end: the mean of 2..9. Winsorised: 2 2 3 4 5 6 7 8 9 9, whose squared
  // deviations from 5.5 sum to 66.5.
  const std::vector<double> values = {10, 3, 7, 1, 5, 9, 2, 8, 4, 6};
  const timing::TrimmedMean result = timing::trimmed_mean(values, 0.10);
  CHECK(result.mean == near(5.5));
  CHECK(result.standard_error == near(std::sqrt(66.5 / 9.0) / (0.8 * std::sqrt(10.0))));
  CHECK(result.degrees_of_freedom == 7);
  // t(0.975, 7) = 2.364624251592784
  const timing::Interval interval = timing::trimmed_interval(values, 0.10, 0.05);
  CHECK(interval.estimate == near(5.5));
  CHECK(interval.high == near(5.5 + 2.364624251592784 * result.standard_error));
  CHECK(interval.low == near(5.5 - 2.364624251592784 * result.standard_error));

  // An outlier of any size leaves mean and error alone.
  std::vector<double> wild = values;
  wild[0] = 1e12;
  CHECK(timing::trimmed_mean(wild, 0.10).mean == result.mean);
  CHECK(timing::trimmed_mean(wild, 0.10).standard_error == result.standard_error);
}

TEST_CASE("the trimmed mean agrees with SciPy where both trim a whole number", "[timing]") {
  const std::vector<double> values = {2.041,  -2.556, 0.418,  -0.568, 9.5,    -0.216, -2.02,
                                      -0.232, -0.865, 3.323,  0.226,  -0.353, -0.281, -0.668,
                                      -1.055, -0.391, 0.482,  -0.239, 0.958,  -0.2,   0.024,
                                      1.546,  0.545,  -0.505, -0.183};
  // scipy.stats.mstats.trimmed_mean_ci(values, limits=(0.2, 0.2), alpha=0.05)
  const timing::Interval interval = timing::trimmed_interval(values, 0.20, 0.05);
  CHECK(interval.estimate == near(-0.0982));
  CHECK(interval.low == near(-0.42184157561264923));
  CHECK(interval.high == near(0.22544157561264921));
  CHECK(timing::trimmed_mean(values, 0.20).standard_error == near(0.15089685955056262));
}

TEST_CASE("values that share a group are no independent ones", "[timing]") {
  // Eight groups of two equal values: as much is known as from eight values. Deviations from 4.5:
  // sums of groups are twice +-0.5, 1.5, 2.5 and 3.5, and their squares sum to 168.
  std::vector<double> values;
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < 16; ++i) {
    values.push_back(static_cast<double>(i % 8) + 1.0);
    groups.push_back(i % 8);
  }
  const auto grouped = timing::trimmed_mean(values, 0.0, groups);
  CHECK(grouped.mean == near(4.5));
  CHECK(grouped.standard_error == near(std::sqrt(168.0 / 16.0 * 8.0 / 7.0) / 4.0));
  CHECK(grouped.degrees_of_freedom == 7);
  const std::vector<double> once(values.begin(), values.begin() + 8);
  CHECK(grouped.standard_error == near(timing::trimmed_mean(once, 0.0).standard_error));

  // Groups that have nothing in common but their number change nothing, and neither do a few.
  const auto plain = timing::trimmed_mean(values, 0.0);
  CHECK(plain.degrees_of_freedom == 15);
  const auto same = [&](auto&& group) {
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = group(i);
    const auto other = timing::trimmed_mean(values, 0.0, groups);
    return other.standard_error == plain.standard_error &&
           other.degrees_of_freedom == plain.degrees_of_freedom;
  };
  CHECK(same([](std::size_t i) { return i; }));
  CHECK(same([](std::size_t i) { return i % 7; }));
  CHECK(same([](std::size_t i) { return i / 2; }) == false);

  const std::vector<std::size_t> short_of_one(15);
  CHECK(refuses([&] { (void)timing::trimmed_mean(values, 0.0, short_of_one); }));
}

TEST_CASE("a look takes blocks on one copy of the code together", "[timing]") {
  timing::Plan plan;
  plan.looks = {64};
  std::vector<double> ratios = normal_values(64, 5);
  std::vector<std::size_t> codes;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    // The copies differ by far more than blocks on one copy do.
    ratios[i] = 0.01 * static_cast<double>(7 * i % 16) + 1e-5 * ratios[i];
    codes.push_back(i % 16);
  }
  const auto alone = timing::look(ratios, plan, Mode::report, true).log_ratio;
  const auto grouped = timing::look(ratios, plan, Mode::report, true, codes).log_ratio;
  CHECK(grouped.estimate == near(alone.estimate));
  CHECK(grouped.high - grouped.low > 1.8 * (alone.high - alone.low));
}

TEST_CASE("trim counts whole values and is not lost to rounding", "[timing]") {
  const std::vector<double> many = normal_values(256, 3);
  CHECK(timing::trimmed_mean(std::span(many).first(100), 0.29).degrees_of_freedom ==
        100 - 2 * 29 - 1);
  CHECK(timing::trimmed_mean(std::span(many).first(100), 0.0).degrees_of_freedom == 99);
  CHECK(timing::trimmed_mean(std::span(many).first(9), 0.10).degrees_of_freedom == 8);
  CHECK(timing::trimmed_mean(std::span(many).first(16), 0.10).degrees_of_freedom == 13);
  CHECK(timing::trimmed_mean(std::span(many).first(256), 0.10).degrees_of_freedom == 205);
}

TEST_CASE("the trimmed mean follows shifts and scales and ignores order", "[timing]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = normal_values(4 + 7 * seed, seed);
    const timing::TrimmedMean plain = timing::trimmed_mean(values, 0.15);
    std::vector<double> moved = values;
    for (double& value : moved) value = 3.0 - 2.0 * value;
    const timing::TrimmedMean shifted = timing::trimmed_mean(moved, 0.15);
    CHECK(shifted.mean == near(3.0 - 2.0 * plain.mean, 1e-10));
    CHECK(shifted.standard_error == near(2.0 * plain.standard_error, 1e-10));
    std::reverse(values.begin(), values.end());
    CHECK(timing::trimmed_mean(values, 0.15).mean == plain.mean);
    const timing::Interval wide = timing::trimmed_interval(values, 0.15, 0.01);
    const timing::Interval narrow = timing::trimmed_interval(values, 0.15, 0.05);
    CHECK(wide.low < narrow.low);
    CHECK(narrow.low < narrow.estimate);
    CHECK(narrow.estimate < narrow.high);
    CHECK(narrow.high < wide.high);
  }
}

TEST_CASE("trimming refuses what it cannot do", "[timing]") {
  const std::vector<double> five = {1, 2, 3, 4, 5};
  CHECK(refuses([&] { (void)timing::trimmed_mean(std::span(five).first(3), 0.1); }));
  CHECK(refuses([&] { (void)timing::trimmed_mean(five, 0.5); }));
  CHECK(refuses([&] { (void)timing::trimmed_mean(five, -0.1); }));
  CHECK(refuses([&] { (void)timing::trimmed_mean(five, std::nan("")); }));
  CHECK(refuses([&] { (void)timing::trimmed_mean(five, 0.45); }));  // one value would be left
  CHECK(refuses([&] { (void)timing::trimmed_interval(five, 0.1, 0.0); }));
  CHECK(refuses([&] { (void)timing::trimmed_interval(five, 0.1, 1.0); }));
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    std::vector<double> values = five;
    values[2] = bad;
    CHECK(refuses([&] { (void)timing::trimmed_mean(values, 0.1); }));
  }
}

TEST_CASE("each look uses its share of alpha and the degrees of freedom that are left",
          "[timing]") {
  // t(1 - 0.05/5/2, n - 2 floor(n/10) - 1)
  const std::map<std::size_t, double> multipliers = {{16, 3.0122758387165782},
                                                     {32, 2.7874358136769706},
                                                     {64, 2.6757222341106477},
                                                     {128, 2.6244067580299557},
                                                     {256, 2.600024105407084}};
  const timing::Plan plan;
  for (const auto& [blocks, multiplier] : multipliers) {
    const std::vector<double> values = alternating(blocks, 0.003, 0.05);
    const timing::Look at = timing::look(values, plan, Mode::decide, false);
    INFO(blocks << " blocks");
    CHECK(at.blocks == static_cast<int>(blocks));
    CHECK_FALSE(at.merged_pairs);
    const double n = static_cast<double>(blocks);
    const double kept = n - 2 * std::floor(n / 10);
    const double error = 0.05 * std::sqrt(n / (n - 1)) * std::sqrt(n) / kept;
    CHECK(at.log_ratio.estimate == near(0.003));
    CHECK(at.log_ratio.high == near(0.003 + multiplier * error, 1e-10));
    CHECK(at.log_ratio.low == near(0.003 - multiplier * error, 1e-10));
  }
}

TEST_CASE("verdicts at a look, by hand", "[timing]") {
  const timing::Plan plan;
  // 16 blocks of centre +- 0.01: standard error 0.01 sqrt(16/15) 4/14, half-width 0.0088888.
  const auto decide = [&](double centre, double spread = 0.01) {
    return timing::look(alternating(16, centre, spread), plan, Mode::decide, false);
  };
  CHECK(decide(-0.0089).decision == Decision::faster);
  CHECK(decide(-0.0088).decision == Decision::undecided);
  CHECK(decide(0.0089).decision == Decision::slower);
  CHECK(decide(0.0088).decision == Decision::undecided);
  CHECK(decide(0.0).decision == Decision::same);
  CHECK(decide(0.0011).decision == Decision::same);       // up to 0.00999
  CHECK(decide(0.0012).decision == Decision::undecided);  // up to 0.01009
  CHECK(decide(-0.0012).decision == Decision::undecided);
  // Inside the smallest effect but off zero: a direction is known, and it comes first.
  CHECK(decide(-0.005, 0.001).decision == Decision::faster);
  CHECK(decide(0.005, 0.001).decision == Decision::slower);
  CHECK(decide(-0.0089).stop);
  CHECK(decide(0.0).stop);
  CHECK_FALSE(decide(-0.0088).stop);
  CHECK(decide(-0.0088).log_ratio.low == near(-0.0088 - 0.00888875755, 1e-8));
}

TEST_CASE("identical samples give a point, not a fault", "[timing]") {
  const timing::Plan plan;
  const timing::Look none = timing::look(std::vector<double>(16, 0.0), plan, Mode::decide, false);
  CHECK(none.decision == Decision::same);
  CHECK(none.lag1_autocorrelation == 0.0);
  const timing::Look some = timing::look(std::vector<double>(16, -0.5), plan, Mode::report, false);
  CHECK(some.decision == Decision::faster);
  CHECK(some.log_ratio.low == some.log_ratio.high);
}

TEST_CASE("nothing is decided between looks", "[timing]") {
  const timing::Plan plan;
  for (std::size_t blocks = 0; blocks <= 256; ++blocks) {
    const bool planned = std::count(plan.looks.begin(), plan.looks.end(), blocks) == 1;
    for (const Mode mode : {Mode::decide, Mode::report}) {
      const timing::Look at = timing::look(alternating(blocks, -0.3, 0.001), plan, mode, false);
      INFO(blocks << " blocks");
      CHECK(at.blocks == static_cast<int>(blocks));
      CHECK(at.stop == planned);
      CHECK(at.decision == (planned ? Decision::faster : Decision::undecided));
      CHECK(std::isfinite(at.log_ratio.low) == planned);
    }
  }
}

TEST_CASE("a mode takes its own share of the looks, at least one", "[timing]") {
  timing::Plan plan;
  plan.looks = {16, 32, 64};
  plan.decide_blocks = 40;
  const auto last = [&](Mode mode) { return timing::looks_of(plan, mode).back(); };
  CHECK(last(Mode::screen) == 16);
  CHECK(last(Mode::decide) == 32);
  CHECK(last(Mode::report) == 64);
  plan.decide_blocks = 8;
  CHECK(last(Mode::decide) == 16);
}

TEST_CASE("report goes on until the interval is narrow enough", "[timing]") {
  timing::Plan plan;
  plan.looks = {16, 32, 64, 128, 256};
  const auto report = [&](std::size_t blocks, double centre, double spread) {
    return timing::look(alternating(blocks, centre, spread), plan, Mode::report, false);
  };
  // Half-width 0.0088888 at a spread of 0.01; a quarter of 0.02 is 0.005.
  CHECK_FALSE(report(16, -0.02, 0.01).stop);
  CHECK(report(16, -0.02, 0.01).decision == Decision::undecided);
  CHECK(report(16, -0.02, 0.0056).stop);        // 0.004978
  CHECK_FALSE(report(16, -0.02, 0.0057).stop);  // 0.005066
  CHECK(report(16, -0.02, 0.0056).decision == Decision::faster);
  // Near zero the absolute bound of 0.0025 decides.
  CHECK(report(16, 0.0, 0.0028).stop);
  CHECK(report(16, 0.0, 0.0028).decision == Decision::same);
  CHECK_FALSE(report(16, 0.0, 0.0029).stop);
  // Where decide would have stopped, report has not; at the last look both have.
  CHECK(timing::look(alternating(16, -0.02, 0.01), plan, Mode::decide, false).stop);
  CHECK(report(256, -0.02, 0.5).stop);
  CHECK(report(256, -0.02, 0.5).decision == Decision::ambiguous);
}

TEST_CASE("screen takes one look, with all of alpha", "[timing]") {
  const timing::Plan plan;
  const auto screen = [&](std::size_t blocks, double centre, double spread, bool spent = false) {
    return timing::look(alternating(blocks, centre, spread), plan, Mode::screen, spent);
  };
  for (std::size_t blocks = 0; blocks < 16; ++blocks) {
    CHECK_FALSE(screen(blocks, -0.3, 0.001).stop);
    CHECK(screen(blocks, -0.3, 0.001).decision == Decision::undecided);
  }
  // Standard error 0.01 sqrt(16/15) 4/14; t(0.975, 13) = 2.1604: half-width 0.0063750.
  CHECK(screen(16, -0.0064, 0.01).decision == Decision::faster);
  CHECK(screen(16, 0.0064, 0.01).decision == Decision::slower);
  CHECK(screen(16, -0.0063, 0.01).decision == Decision::ambiguous);
  CHECK(screen(16, 0.0036, 0.01).decision == Decision::same);
  CHECK(screen(16, -0.0063, 0.01).stop);
  const timing::Interval expected =
      timing::trimmed_interval(alternating(16, -0.0063, 0.01), plan.trim, plan.alpha);
  CHECK(screen(16, -0.0063, 0.01).log_ratio.low == expected.low);
  CHECK(screen(16, -0.0063, 0.01).log_ratio.high == expected.high);
  // A budget that ends sooner brings that look forward; nothing comes after it.
  CHECK(screen(9, -0.1, 0.01, true).decision == Decision::faster);
  CHECK(refuses([&] { (void)screen(17, -0.3, 0.001); }));
  CHECK(refuses([&] { (void)screen(32, -0.3, 0.001, true); }));
}

TEST_CASE("a spent budget forces the answer that the interval supports", "[timing]") {
  const timing::Plan plan;
  for (const Mode mode : {Mode::decide, Mode::report}) {
    const auto forced = [&](std::size_t blocks, double centre, double spread) {
      const timing::Look at = timing::look(alternating(blocks, centre, spread), plan, mode, true);
      CHECK(at.stop);
      return at.decision;
    };
    CHECK(forced(20, -0.1, 0.01) == Decision::faster);
    CHECK(forced(21, 0.1, 0.01) == Decision::slower);
    CHECK(forced(100, 0.0, 0.01) == Decision::same);
    CHECK(forced(20, -0.005, 0.02) == Decision::ambiguous);
    CHECK(forced(4, -0.5, 0.001) == Decision::faster);
    for (std::size_t blocks = 0; blocks < 4; ++blocks) {
      CHECK(forced(blocks, -0.5, 0.001) == Decision::ambiguous);
    }
  }
  const timing::Look none = timing::look({}, plan, Mode::decide, true);
  CHECK(none.log_ratio.low == -kInfinity);
  CHECK(none.log_ratio.high == kInfinity);
}

TEST_CASE("a forced answer uses the level of a look, not more", "[timing]") {
  const std::vector<double> values = alternating(40, -0.01, 0.02);
  const timing::Look at = timing::look(values, {}, Mode::decide, true);
  const timing::Interval expected = timing::trimmed_interval(values, 0.10, 0.01);
  CHECK(at.log_ratio.low == expected.low);
  CHECK(at.log_ratio.high == expected.high);
}

TEST_CASE("autocorrelated blocks are merged in pairs until they are not", "[timing]") {
  // Four plateaus of eight blocks: the first merging leaves 16 values that still hang together.
  std::vector<double> values = alternating(32, 0.0, 0.001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.01 * static_cast<double>(i / 8);
  std::vector<double> pairs(16);
  for (std::size_t i = 0; i < 16; ++i) pairs[i] = 0.5 * (values[2 * i] + values[2 * i + 1]);
  std::vector<double> fours(8);
  for (std::size_t i = 0; i < 8; ++i) fours[i] = 0.5 * (pairs[2 * i] + pairs[2 * i + 1]);

  const timing::Look at = timing::look(values, {}, Mode::decide, false);
  CHECK(at.merged_pairs);
  CHECK(at.blocks == 32);
  CHECK(at.lag1_autocorrelation > 0.8);
  const timing::Interval expected = timing::trimmed_interval(fours, 0.10, 0.01);
  CHECK(at.log_ratio.low == near(expected.low));
  CHECK(at.log_ratio.high == near(expected.high));
  // Unmerged, the interval would have been less than half as wide.
  const timing::Interval naive = timing::trimmed_interval(values, 0.10, 0.01);
  CHECK(at.log_ratio.high - at.log_ratio.low > 2.0 * (naive.high - naive.low));
}

TEST_CASE("merging starts above an autocorrelation of 0.2 and leaves eight values", "[timing]") {
  // x = +1 +1 -1 -1 ... : neighbours agree and differ in turn; by hand the lag-1 autocorrelation of
  // 16 such values is (8 - 7) / 16.
  std::vector<double> twos(16);
  for (std::size_t i = 0; i < 16; ++i) twos[i] = i / 2 % 2 == 0 ? 0.01 : -0.01;
  const timing::Look at = timing::look(twos, {}, Mode::decide, false);
  CHECK(at.lag1_autocorrelation == near(1.0 / 16.0));
  CHECK_FALSE(at.merged_pairs);
  // x = +1 x4, -1 x4, ... : (12 - 3) / 16.
  std::vector<double> fours(16);
  for (std::size_t i = 0; i < 16; ++i) fours[i] = i / 4 % 2 == 0 ? 0.01 : -0.01;
  CHECK(timing::look(fours, {}, Mode::decide, false).lag1_autocorrelation == near(9.0 / 16.0));
  CHECK(timing::look(fours, {}, Mode::decide, false).merged_pairs);
  // Fifteen values could only be merged to seven.
  const timing::Look short_run =
      timing::look(std::span<const double>(fours).first(15), {}, Mode::decide, true);
  CHECK(short_run.lag1_autocorrelation > 0.2);
  CHECK_FALSE(short_run.merged_pairs);
  // Of an odd number the last one is left out.
  std::vector<double> odd = fours;
  odd.push_back(5.0);
  odd[16] = -0.01;
  CHECK(timing::look(odd, {}, Mode::decide, true).log_ratio.estimate ==
        near(timing::look(fours, {}, Mode::decide, true).log_ratio.estimate));
}

TEST_CASE("swapping the arms swaps the decision", "[timing]") {
  const auto mirrored = [](Decision decision) {
    if (decision == Decision::faster) return Decision::slower;
    if (decision == Decision::slower) return Decision::faster;
    return decision;
  };
  const timing::Plan plan;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<double> values = normal_values(seed % 2 == 0 ? 32 : 27, seed);
    for (double& value : values)
      value = 0.01 * value + 0.002 * (static_cast<double>(seed) - 30.0) / 3.0;
    std::vector<double> swapped = values;
    for (double& value : swapped) value = -value;
    for (const Mode mode : {Mode::decide, Mode::report}) {
      const timing::Look one = timing::look(values, plan, mode, seed % 2 == 1);
      const timing::Look other = timing::look(swapped, plan, mode, seed % 2 == 1);
      CHECK(other.decision == mirrored(one.decision));
      CHECK(other.stop == one.stop);
      CHECK(other.log_ratio.low == near(-one.log_ratio.high, 1e-9));
      // A decision never contradicts its interval.
      if (one.decision == Decision::faster) CHECK(one.log_ratio.high < 0.0);
      if (one.decision == Decision::slower) CHECK(one.log_ratio.low > 0.0);
      if (one.decision == Decision::undecided) CHECK_FALSE(one.stop);
    }
  }
}

TEST_CASE("a plan that cannot work is refused", "[timing]") {
  const std::vector<double> values = alternating(16, 0.0, 0.01);
  const auto refused = [&](auto&& change) {
    timing::Plan plan;
    change(plan);
    return refuses([&] { (void)timing::look(values, plan, Mode::decide, false); });
  };
  CHECK_FALSE(refused([](timing::Plan&) {}));
  CHECK(refused([](timing::Plan& plan) { plan.looks = {}; }));
  CHECK(refused([](timing::Plan& plan) { plan.looks = {3, 16}; }));
  CHECK(refused([](timing::Plan& plan) { plan.looks = {16, 16}; }));
  CHECK(refused([](timing::Plan& plan) { plan.looks = {32, 16}; }));
  CHECK(refused([](timing::Plan& plan) { plan.looks = {8}; }));  // 16 blocks are beyond it
  CHECK(refused([](timing::Plan& plan) { plan.alpha = 0.0; }));
  CHECK(refused([](timing::Plan& plan) { plan.alpha = 1.0; }));
  CHECK(refused([](timing::Plan& plan) { plan.trim = 0.5; }));
  CHECK(refused([](timing::Plan& plan) { plan.minimum_effect = -0.01; }));
  CHECK(refused([](timing::Plan& plan) { plan.half_width = 0.0; }));
  CHECK(refused([](timing::Plan& plan) { plan.half_width = std::nan(""); }));
  const std::vector<double> bad = {0.0, std::nan("")};
  CHECK(refuses([&] { (void)timing::look(bad, {}, Mode::decide, false); }));
}

TEST_CASE("modes have names", "[timing]") {
  CHECK(timing::to_string(Mode::screen) == "screen");
  CHECK(timing::to_string(Mode::decide) == "decide");
  CHECK(timing::to_string(Mode::report) == "report");
}

TEST_CASE("decisions have names", "[timing]") {
  CHECK(timing::to_string(Decision::faster) == "faster");
  CHECK(timing::to_string(Decision::slower) == "slower");
  CHECK(timing::to_string(Decision::same) == "same");
  CHECK(timing::to_string(Decision::ambiguous) == "ambiguous");
  CHECK(timing::to_string(Decision::undecided) == "undecided");
}

TEST_CASE("the sign-flip test enumerates small samples exactly", "[timing]") {
  const auto p = [](std::vector<double> values) { return timing::sign_flip_p_value(values, 0); };
  CHECK(p({1.0}) == 1.0);
  CHECK(p({1.0, 1.0}) == 0.5);                    // 2, 0, 0, -2
  CHECK(p({1.0, 1.0, 1.0, 1.0}) == 0.125);        // two of 16
  CHECK(p({1.0, 2.0, 3.0}) == 0.25);              // two of 8
  CHECK(p({1.0, 2.0, -3.0}) == 1.0);              // a mean of 0 is never extreme
  CHECK(p({5.0, -1.0, 1.0}) == 1.0 - 2.0 / 8.0);  // 7 5 5 3 and their negatives: |sum| >= 5 in 6
  CHECK(p(std::vector<double>(16, -0.01)) == 2.0 / 65536.0);
}

TEST_CASE("ties in the sign-flip test survive rounding", "[timing]") {
  // The same multiset in every order: sums that tie on paper must tie in binary.
  std::vector<double> values = {-0.1, 0.2, 0.3, 0.7, -0.4};
  std::sort(values.begin(), values.end());
  // |0.7| is reached by: count over the 32 sign vectors of (1 2 3 4 7) / 10 with |sum| >= 7.
  const double expected = 18.0 / 32.0;
  do {
    CHECK(timing::sign_flip_p_value(values, 0) == expected);
  } while (std::next_permutation(values.begin(), values.end()));
}

TEST_CASE("the sign-flip test draws for large samples", "[timing]") {
  // All signs equal: none of the draws reaches it, and it counts itself.
  const std::vector<double> same_sign(64, 0.02);
  CHECK(timing::sign_flip_p_value(same_sign, 1) == near(1.0 / 20001.0));
  // 14 of 20 equal values positive: 2 P(Binomial(20, 1/2) >= 14) = 0.1153182983. Four sd of the
  // draws are 0.009.
  std::vector<double> mixed(20, 1.0);
  std::fill_n(mixed.begin(), 6, -1.0);
  CHECK(timing::sign_flip_p_value(mixed, 7) == Approx(0.1153182983).margin(0.009));
  CHECK(timing::sign_flip_p_value(mixed, 7) == timing::sign_flip_p_value(mixed, 7));
  // More blocks than one word has bits: 70 of 100, 2 P(Binomial(100, 1/2) >= 60) = 0.0568879.
  std::vector<double> many(100, 1.0);
  std::fill_n(many.begin(), 40, -1.0);
  CHECK(timing::sign_flip_p_value(many, 7) == Approx(0.0568879).margin(0.0066));
  CHECK(refuses([] { (void)timing::sign_flip_p_value({}, 0); }));
  const std::vector<double> bad = {kInfinity};
  CHECK(refuses([&] { (void)timing::sign_flip_p_value(bad, 0); }));
}

TEST_CASE("the gate, by hand", "[timing]") {
  const std::vector<double> ratios = {-0.02, -0.021, -0.019, -0.0205, -0.0195};
  const std::vector<double> copies = {0.0005, -0.0005, 0.0002, -0.0002, 0.0};
  const timing::Gate gate = timing::gate(gate_runs(ratios, 0.0005, copies), {});
  CHECK(gate.passed);
  CHECK(gate.reasons.empty());
  // Variance 0.625e-6 over processes, mean square of A/A 0.116e-6, t(0.975, 4) = 2.7764451.
  const double statistical = 2.776445105197793 * std::sqrt(0.625e-6 / 5.0);
  const double systematic = 2.0 * std::sqrt(0.116e-6);
  const double half_width = std::sqrt(statistical * statistical + systematic * systematic);
  CHECK(gate.log_ratio.estimate == near(-0.02));
  CHECK(gate.log_ratio.high == near(-0.02 + half_width, 1e-9));
  CHECK(gate.log_ratio.low == near(-0.02 - half_width, 1e-9));
  CHECK(gate.aa_mean == near(0.0));
  CHECK(gate.aa_spread == near(std::sqrt(0.116e-6), 1e-9));
  CHECK(gate.between_process_sd == near(std::sqrt(0.625e-6 - 0.25e-6), 1e-9));
  CHECK(gate.speedup == near(std::exp(0.02)));
  CHECK(gate.safe_speedup == near(std::exp(0.02 - half_width), 1e-9));
  // Processes that agree better than their own errors say have no variance of their own.
  CHECK(timing::gate(gate_runs(ratios, 0.001, copies), {}).between_process_sd == 0.0);
}

TEST_CASE("the gate's claim must be beaten by the safe speed-up", "[timing]") {
  const std::vector<double> ratios = {-0.02, -0.021, -0.019, -0.0205, -0.0195};
  const auto runs = gate_runs(ratios, 0.001, {0.0});
  const timing::Gate plain = timing::gate(runs, {});
  REQUIRE(plain.passed);
  timing::GateRule rule;
  rule.claim = plain.safe_speedup * 0.99999;
  CHECK(timing::gate(runs, rule).passed);
  rule.claim = plain.safe_speedup * 1.00001;
  check_only_reason(timing::gate(runs, rule), "does not beat the claim 1.019");
  // A slower candidate passes no claim of 1, however sure the slowness is.
  check_only_reason(timing::gate(gate_runs({0.02, 0.021, 0.019, 0.0205, 0.0195}, 0.001, {0.0}), {}),
                    "does not beat the claim 1.0000");
}

TEST_CASE("the A/A floor widens the gate's interval", "[timing]") {
  // Sure of 0.4 % by its processes, but its own copy differs by 0.25 % either way.
  const std::vector<double> ratios = {-0.004, -0.0041, -0.0039, -0.004, -0.004};
  CHECK(timing::gate(gate_runs(ratios, 0.001, {0.0}), {}).passed);
  const timing::Gate gate =
      timing::gate(gate_runs(ratios, 0.001, {0.0025, -0.0025, 0.0025, -0.0025, 0.0}), {});
  CHECK(gate.aa_spread == near(0.0025 * std::sqrt(0.8), 1e-9));
  check_only_reason(gate, "the safe speed-up is 0.99");
}

TEST_CASE("each clause of the gate fails by itself", "[timing]") {
  timing::GateRule lenient;
  lenient.claim = 0.5;  // leaves the other clauses to speak
  // Sign, fewer than eight: all must agree.
  check_only_reason(
      timing::gate(gate_runs({-0.002, -0.002, -0.002, -0.002, 0.001}, 0.001, {0.0}), lenient),
      "disagree on the sign: 4 faster and 1 slower of 5");
  // From eight on, one may differ, but not two.
  std::vector<double> eight(8, -0.002);
  eight[3] = 0.001;
  lenient.runs = 8;
  CHECK(timing::gate(gate_runs(eight, 0.001, {0.0}), lenient).passed);
  eight[5] = 0.0;
  check_only_reason(timing::gate(gate_runs(eight, 0.001, {0.0}), lenient),
                    "6 faster and 1 slower of 8");
  lenient.runs = 5;
  // Spread: 1.5 % is too much, unless the processes' own errors explain it.
  const std::vector<double> apart = {-0.010, -0.015, -0.020, -0.025, -0.020};
  check_only_reason(timing::gate(gate_runs(apart, 0.001, {0.0}), lenient),
                    "spread over 1.50 %, more than the 1.00 % allowed");
  CHECK(timing::gate(gate_runs(apart, 0.0038, {0.0}), lenient).passed);
  check_only_reason(timing::gate(gate_runs(apart, 0.0037, {0.0}), lenient), "the 1.48 % allowed");
  // A large effect bears more: half of itself.
  CHECK(timing::gate(gate_runs({-0.20, -0.17, -0.22, -0.25, -0.26}, 0.001, {0.0}), {}).passed);
  check_only_reason(timing::gate(gate_runs({-0.10, -0.17, -0.22, -0.25, -0.26}, 0.001, {0.0}), {}),
                    "spread over 16.00 %, more than the 10.00 % allowed");
  // A/A: mean beyond the bound while its interval holds 0.
  const std::vector<double> ratios(5, -0.02);
  check_only_reason(
      timing::gate(gate_runs(ratios, 0.001, {0.02, -0.01, 0.01, -0.01, 0.01}), lenient),
      "own copy by +0.400 %, more than 0.300 %");
  CHECK(
      timing::gate(gate_runs(std::vector<double>(5, -0.2), 0.001, {0.02, -0.01, 0.01, -0.01, 0.01}),
                   lenient)
          .passed);
  // A/A: small, but surely not 0.
  check_only_reason(
      timing::gate(gate_runs(ratios, 0.001, {0.002, 0.0021, 0.0019, 0.002, 0.002}), lenient),
      "excludes 0");
  CHECK(timing::gate(
            gate_runs(std::vector<double>(5, -0.05), 0.001, {0.002, 0.0021, 0.0019, 0.002, 0.002}),
            lenient)
            .passed);
  // Fewer processes than planned.
  check_only_reason(timing::gate(gate_runs({-0.02, -0.02, -0.02}, 0.001, {0.0}), lenient),
                    "3 of the 5 planned processes");
}

TEST_CASE("the gate names every clause that failed", "[timing]") {
  const timing::Gate gate = timing::gate(gate_runs({0.03, -0.03, 0.02}, 0.001, {0.01}), {});
  CHECK_FALSE(gate.passed);
  CHECK(gate.reasons.size() == 6);
}

TEST_CASE("the median of an even number of errors lies between the middle two", "[timing]") {
  timing::GateRule rule;
  rule.runs = 4;
  rule.claim = 0.5;
  std::vector<timing::GateRun> runs = gate_runs({-0.010, -0.020, -0.025, -0.024}, 0.0, {0.0});
  const double errors[] = {0.09, 0.003, 0.0046, 0.001};  // median 0.0038, allowed 0.0152
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].standard_error = errors[i];
  CHECK(timing::gate(runs, rule).passed);
  runs[2].standard_error = 0.0044;  // median 0.0037, allowed 0.0148
  check_only_reason(timing::gate(runs, rule), "spread over 1.50 %");
}

TEST_CASE("the gate refuses what cannot be judged", "[timing]") {
  const auto runs = gate_runs({-0.02, -0.02}, 0.001, {0.0});
  CHECK(refuses([&] { (void)timing::gate(std::span(runs).first(1), {}); }));
  CHECK(refuses([&] { (void)timing::gate({}, {}); }));
  CHECK(refuses([&] { (void)timing::gate(runs, {5, 0.0, 0.003}); }));
  CHECK(refuses([&] { (void)timing::gate(runs, {5, kInfinity, 0.003}); }));
  CHECK(refuses([&] { (void)timing::gate(runs, {5, 1.0, 0.0}); }));
  CHECK(refuses([&] { (void)timing::gate(runs, {1, 1.0, 0.003}); }));
  for (const auto change : {+[](timing::GateRun& run) { run.log_ratio = std::nan(""); },
                            +[](timing::GateRun& run) { run.log_ratio_aa = kInfinity; },
                            +[](timing::GateRun& run) { run.standard_error = -1.0; }}) {
    auto broken = runs;
    change(broken[1]);
    CHECK(refuses([&] { (void)timing::gate(broken, {}); }));
  }
}
