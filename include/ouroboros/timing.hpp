#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"

/// Statistics of a paired, randomised, sequential comparison of running times.
///
/// Free of torch, of CUDA and of clocks: it takes samples and returns what they support.
/// docs/timing.md explains the estimand, the rules and how often they err.
/// Every function here throws Error{invalid_argument} on arguments that can never work, among them
/// samples that are not finite.
namespace ouroboros::timing {

/// An estimate with its confidence interval.
struct Interval {
  double estimate = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// How many blocks to look at, and how sure to be.
struct Plan {
  /// Block counts at which a decision may fall: see `looks_of`.
  std::vector<int> looks = {16, 32, 64, 128, 256, 512, 1024};
  int decide_blocks = 256;  ///< `decide` gives up here: more is for figures that are published.
  /// `decide` begins no block beyond its first look that would keep a GPU busy for longer in all,
  /// warm-up included: a near-tie costs a reward no more than a clear case. Hosts have no such end.
  double decide_gpu_ms = 50.0;
  /// Total probability of a false decision, split evenly over a mode's looks.
  double alpha = 0.05;
  double trim = 0.10;            ///< Fraction trimmed from each end.
  double minimum_effect = 0.01;  ///< Smallest log-ratio worth claiming.
  double half_width = 0.0025;    ///< Log-ratio half-width at which `report` stops.
  double budget_seconds = 2.0;   ///< Clocked time after which no further block begins.
};

/// When to stop.
enum class Mode : std::uint8_t {
  /// After the first planned look, which is the only one and has all of alpha: a reward for many
  /// candidates at a fixed price.
  screen,
  decide,  ///< On any decision.
  report,  ///< On precision: half-width at most max(half_width, |estimate|/4).
};

enum class Decision : std::uint8_t {
  faster,     ///< The candidate takes less time: the interval lies below 0.
  slower,     ///< The interval lies above 0.
  same,       ///< The interval lies between -minimum_effect and +minimum_effect.
  ambiguous,  ///< The budget ended first.
  undecided,  ///< Not yet enough blocks.
};

/// The name as it stands in JSON and in options, e.g. "decide".
[[nodiscard]] OUROBOROS_API std::string_view to_string(Mode mode) noexcept;
[[nodiscard]] OUROBOROS_API std::string_view to_string(Decision decision) noexcept;

/// The order of arms in one block: a uniform random permutation followed by its mirror image.
/// With two arms this is ABBA or BAAB by a fair coin. A seed gives the same orders on every
/// platform. Needs at least one arm.
class OUROBOROS_API BlockOrder {
 public:
  BlockOrder(std::size_t arms, std::uint64_t seed);
  [[nodiscard]] std::vector<std::size_t> next();

 private:
  std::vector<std::size_t> arms_;
  std::mt19937_64 random_;
};

/// ln(t_candidate / t_baseline) of one block from its two samples of each arm, in any unit.
/// A sample that is not positive gives a result that is not finite, which `look` refuses.
[[nodiscard]] OUROBOROS_API double block_log_ratio(double candidate_1, double candidate_2,
                                                   double baseline_1, double baseline_2) noexcept;

/// Trimmed mean with its standard error.
struct TrimmedMean {
  double mean = 0.0;
  double standard_error = 0.0;
  int degrees_of_freedom = 0;
};

/// Trims floor(trim * n) values from each end, 0 <= trim < 0.5. Needs at least 4 values, and 2 that
/// are left. The standard error is Yuen's.
///
/// `groups`, if not empty, has a number for each value: values of one number have something in
/// common, such as the copy of the code that ran, and are no independent ones. With 8 groups or
/// more the standard error is that of the sums of groups (winsorised, as Yuen's is) where it is the
/// larger one, with a degree of freedom less than there are groups.
[[nodiscard]] OUROBOROS_API TrimmedMean trimmed_mean(std::span<const double> values, double trim,
                                                     std::span<const std::size_t> groups = {});

/// Trimmed mean with its t-interval at confidence 1 - alpha.
[[nodiscard]] OUROBOROS_API Interval trimmed_interval(std::span<const double> values, double trim,
                                                      double alpha,
                                                      std::span<const std::size_t> groups = {});

/// Quantile of Student's t distribution: P(T <= result) = probability, 0 < probability < 1.
[[nodiscard]] OUROBOROS_API double student_t_quantile(double probability,
                                                      double degrees_of_freedom);

/// The looks that a mode takes of those that are planned: the first with `screen`, up to
/// `decide_blocks` but at least one with `decide`, all with `report`.
[[nodiscard]] OUROBOROS_API std::span<const int> looks_of(const Plan& plan, Mode mode) noexcept;

/// Where a sequential comparison stands after some blocks.
struct Look {
  Decision decision = Decision::undecided;
  bool stop = false;
  /// Of candidate over baseline; negative is faster. At confidence 1 - alpha / (the mode's looks).
  /// Unbounded (-inf to +inf) between looks and below 4 blocks, where nothing may be concluded.
  Interval log_ratio;
  int blocks = 0;
  double lag1_autocorrelation = 0.0;  ///< Of the blocks as they came.
  bool merged_pairs = false;  ///< Blocks were merged in pairs because they were autocorrelated.
};

/// Judges the log-ratios of blocks at the planned looks only: call after every block.
/// The result is `undecided` between looks. `budget_spent` forces a final answer, and so does the
/// last look that the mode takes; more blocks than that are refused.
///
/// While the lag-1 autocorrelation exceeds 0.2 and at least 16 values are left, neighbouring blocks
/// are replaced by their mean; the interval is then the wider one of those with and without.
/// `groups`: see `trimmed_mean`.
[[nodiscard]] OUROBOROS_API Look look(std::span<const double> block_log_ratios, const Plan& plan,
                                      Mode mode, bool budget_spent,
                                      std::span<const std::size_t> groups = {});

/// Probability, under random sign flips, of a mean as extreme as the one seen (20,000 draws, or all
/// sign vectors when there are at most 2^16). Exact for identical arms in randomised blocks.
[[nodiscard]] OUROBOROS_API double sign_flip_p_value(std::span<const double> block_log_ratios,
                                                     std::uint64_t seed);

/// One fresh process of the stability gate.
struct GateRun {
  double log_ratio = 0.0;  ///< Candidate over baseline.
  double standard_error = 0.0;
  double log_ratio_aa = 0.0;  ///< Candidate over a second copy of itself.
};

struct GateRule {
  int runs = 5;        ///< Processes that were planned; fewer do not pass.
  double claim = 1.0;  ///< Speed-up that must be beaten.
  /// Largest |mean A/A log-ratio|, or a twentieth of the effect where that is more.
  double aa_bound = 0.003;
};

/// What K fresh processes support.
struct Gate {
  bool passed = false;
  std::vector<std::string> reasons;  ///< Why it did not pass, one clause each.
  Interval log_ratio;                ///< 95 % t-interval over processes, widened by 2 aa_spread.
  double between_process_sd = 0.0;   ///< sqrt(max(0, s_r^2 - mean(SE^2))).
  double aa_mean = 0.0;
  double aa_spread = 0.0;     ///< sqrt(mean(r_AA^2)): the systematic floor.
  double speedup = 0.0;       ///< exp(-estimate).
  double safe_speedup = 0.0;  ///< exp(-high): the number to publish.
};

/// Judges K >= 2 processes; fix K before the first one is measured. It passes when the widened
/// interval lies below -ln(claim), all processes have one sign (from 8 on, one may differ), they
/// spread by at most max(1 %, 4 median standard errors, half of the effect), and the A/A arm shows
/// no difference: its mean within `aa_bound` and its own t-interval around 0.
[[nodiscard]] OUROBOROS_API Gate gate(std::span<const GateRun> runs, const GateRule& rule);

}  // namespace ouroboros::timing
