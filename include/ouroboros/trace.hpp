#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/timing.hpp"

/// Recorded traces of timed runs, and the guards that say whether they may be believed.
///
/// As free of torch, of CUDA and of clocks as timing.hpp: an executor records, these functions
/// judge. docs/timing.md, section "Traces and guards", derives the rules and says how often each
/// guard fires by mistake.
/// Every function here throws Error{invalid_argument} on a block that is not an order of arms and
/// its mirror image, on times that are not positive and finite (those that may be unknown: negative
/// or not finite), and where a block lacks an arm that is asked for.
namespace ouroboros::timing {

/// One timed run of an arm.
struct Sample {
  std::size_t arm = 0;
  double latency_us = 0.0;
  double flush_us = 0.0;  ///< Of the cache flush before it; 0: none or unknown.
  double span_us = 0.0;   ///< From before the flush to after the run by a second clock; 0: unknown.
  double clock_mhz = 0.0;  ///< Of the processor meanwhile; 0: unknown.
  bool starved = false;    ///< The device may have waited for the host inside the measurement.

  friend bool operator==(const Sample&, const Sample&) = default;
};

/// Every arm twice: an order and its mirror image, all on one set of inputs and pages.
struct Block {
  std::size_t set = 0;   ///< Which physical pages; two blocks with one set used the same.
  std::size_t code = 0;  ///< Which copies of the arms' code; two blocks with one number, the same.
  std::vector<Sample> samples;

  friend bool operator==(const Block&, const Block&) = default;
};

// ---- Which blocks count
// --------------------------------------------------------------------------

/// Why a block does not count. Blind to which arm is which, and to the ratio.
/// A block with several reasons has the first of this order.
enum class Void : std::uint8_t {
  none,     ///< It counts.
  starved,  ///< A sample was starved.
  flush,    ///< A flush was shorter or longer than its band allows.
  clock,    ///< The processor ran slower than in most blocks before.
  span,     ///< The second clock disagrees with the first.
};

/// The name of `reason`, e.g. "flush".
[[nodiscard]] OUROBOROS_API std::string_view to_string(Void reason) noexcept;

/// What a block must keep to.
struct Bands {
  /// What a flush takes, from calibration. 0: the median over admitted blocks, each counted with
  /// its own median.
  double flush_us = 0.0;
  double flush_tolerance = 0.20;  ///< A flush may differ from that by this share of it.
  /// A block's mean clock must be at least this share of the running median. Ordinary clocks wander
  /// by less than 1 %; nvbench's default of 0.75 lets sags of 5 to 20 % pass.
  double least_clock = 0.97;
  /// flush + latency - span_missing_us <= span <= span_factor (flush + latency) + span_allowance_us
  double span_missing_us = 2.0;     ///< Two clocks' resolutions: up to 1 us each.
  double span_factor = 1.1;         ///< Clocks that run apart, and gaps between launches.
  double span_allowance_us = 60.0;  ///< Launching and recording: some 5 us each for ten commands.
};

/// Says of each block whether it counts, from what came before it.
///
/// The clock is compared with the median over all earlier blocks that were not starved, void ones
/// among them: a machine that settles at a new clock costs about as many blocks as it had done
/// before, and not all that follow. The flush is compared with admitted blocks only: what is void
/// must not teach the band. While there are none, a block's own median stands in. A trace has
/// flushes everywhere or nowhere: in a band above 0, a flush of 0 us is void like any other
/// outside.
class OUROBOROS_API BlockFilter {
 public:
  explicit BlockFilter(const Bands& bands = {});

  /// `none` when the block counts. Call once for every block, in order.
  Void admit(const Block& block);

  [[nodiscard]] int seen() const noexcept;              ///< Blocks so far.
  [[nodiscard]] int count(Void reason) const noexcept;  ///< Of these with `reason`.
  [[nodiscard]] int admitted() const noexcept;          ///< count(Void::none).

  /// The machine does not hold still: of the blocks that were not starved there are at least 16,
  /// and more than 10 %, at least 4, are void. No verdict may rest on such a run.
  [[nodiscard]] bool unstable() const noexcept;

  /// The host cannot keep the device supplied: at least 16 blocks, more than 10 %, at least 4,
  /// starved. Says nothing about the machine's clocks, and those that are left are sound; what it
  /// asks for is another way of submission.
  [[nodiscard]] bool starving() const noexcept;

  /// One sentence with the counts, e.g. "Of 64 blocks 55 count; void: 2 starved, 7 by their flush."
  [[nodiscard]] std::string why() const;

 private:
  Bands bands_;
  std::array<int, 5> counts_{};
  std::vector<double> flushes_;  ///< Median of each admitted block, sorted.
  std::vector<double> clocks_;   ///< Mean of each block that was not starved, sorted.
};

// ---- From traces to numbers
// ----------------------------------------------------------------------

/// ln(t_candidate / t_baseline) of each block, as block_log_ratio, with `offset_us` taken off every
/// latency first: the cost of a launch that all arms share, 0 for none. Throws
/// Error{invalid_argument} when a latency is not above the offset.
[[nodiscard]] OUROBOROS_API std::vector<double> log_ratios(std::span<const Block> blocks,
                                                           std::size_t candidate,
                                                           std::size_t baseline, double offset_us);

/// All samples of one arm in order, in microseconds, less `offset_us`.
[[nodiscard]] OUROBOROS_API std::vector<double> latencies(std::span<const Block> blocks,
                                                          std::size_t arm, double offset_us);

/// Which copies of the arms' code each block ran: what its blocks have in common, for `look`.
[[nodiscard]] OUROBOROS_API std::vector<std::size_t> codes(std::span<const Block> blocks);

/// The latency of one arm in microseconds less `offset_us`: trimmed mean over the means of blocks,
/// so that the interval does not take the two samples of a block for independent ones. Needs 4
/// blocks.
[[nodiscard]] OUROBOROS_API Interval latency(std::span<const Block> blocks, std::size_t arm,
                                             double offset_us, double trim, double alpha);

/// The log-ratio when the offset is itself an estimate: the interval at offset_us.estimate, widened
/// to hold those at offset_us.low and offset_us.high. Needs 4 blocks.
[[nodiscard]] OUROBOROS_API Interval launch_free(std::span<const Block> blocks,
                                                 std::size_t candidate, std::size_t baseline,
                                                 const Interval& offset_us, double trim,
                                                 double alpha);

/// Time of one call from two chains of calls: (long_us - short_us) / (n_long - n_short). A fixed
/// cost of launching cancels, so a trace of such slopes has offset 0. Noise can make the result 0
/// or less, which no log-ratio takes. Needs n_long > n_short >= 1.
[[nodiscard]] OUROBOROS_API double slope(double long_us, double short_us, int n_long, int n_short);

// ---- Guards
// --------------------------------------------------------------------------------------
//
// Unless it is said otherwise, intervals of guards are at 99 %, over trimmed means (10 % from each
// end). Where there are too few blocks for one it is unbounded (-inf to +inf), and the guard does
// not fire.

/// Whether the second meeting with a block's inputs is quicker than the first, for the candidate
/// more than for the baseline.
struct MemoryTest {
  bool fired = false;  ///< Both intervals lie below -0.5 %: the candidate remembers.
  /// The paired estimate is further than 1 %, and than three eighths of its interval's width, from
  /// 0: by memory, by carry-over or, now and then, by chance second meetings favour one of the two.
  /// Or, of 16 blocks and more, first meetings alone tell the ratio better than all. No accusation:
  /// see `first_meetings`.
  bool uneven = false;
  /// Mean over blocks of [ln second - ln first] of the candidate less that of the baseline. With
  /// n arms it holds 1/n of the carry-over contrast (baseline less candidate) as well.
  Interval paired;
  /// The same from the blocks in which the arm is not in the middle, so that it never follows
  /// itself: free of carry-over, but wider.
  Interval apart;
};

[[nodiscard]] OUROBOROS_API MemoryTest memory_test(std::span<const Block> blocks,
                                                   std::size_t candidate, std::size_t baseline,
                                                   double offset_us);

/// The same blocks with every arm's second sample replaced by its first: what is computed from them
/// rests on first meetings alone, where nobody has a memory of the inputs, and nobody follows
/// itself.
[[nodiscard]] OUROBOROS_API std::vector<Block> first_meetings(std::span<const Block> blocks);

/// Whether an arm runs differently after itself than after others, and not all arms alike.
///
/// kappa is mean ln t after others less mean ln t after itself. Only the middle arm of a block
/// follows itself, at its second meeting. What an arm remembers is in every block, so it cancels in
/// the comparison of blocks where the arm is in the middle with those where it is not.
struct CarryOver {
  bool fired = false;  ///< |difference.estimate| > 0.3 %, and its interval excludes 0.
  /// Each arm's kappa holds effects of slots and drift, which are those of all arms alike; only the
  /// difference is free of them.
  Interval candidate;
  Interval baseline;
  Interval difference;  ///< Candidate less baseline. With n arms 1/(2n) of it is in the log-ratio.
};

[[nodiscard]] OUROBOROS_API CarryOver carry_over(std::span<const Block> blocks,
                                                 std::size_t candidate, std::size_t baseline,
                                                 double offset_us);

/// Whether the ratio in cycles is that in time.
struct CycleCheck {
  bool clock_confounded = false;  ///< |estimate| > 0.3 %, and the interval excludes 0.
  /// Log-ratio in cycles less log-ratio in time: ln of the candidate's clock over the baseline's.
  Interval difference;
  int blocks = 0;  ///< Those with a clock for every sample of both arms.
};

/// Needs the clock of each sample: one clock for a whole block cannot differ between arms.
[[nodiscard]] OUROBOROS_API CycleCheck cycle_check(std::span<const Block> blocks,
                                                   std::size_t candidate, std::size_t baseline);

/// How much an arm's time depends on which pages it works on.
struct Placement {
  bool fired = false;  ///< The interval excludes 0: pages matter, by so much.
  /// Sd of the log-latency between sets of pages; 0.01 is 1 %. Never below 0. At 95 %.
  Interval sd;
  double within_sd = 0.0;  ///< Of one block mean on one set of pages.
  int changes = 0;         ///< Neighbouring blocks on different sets: what `sd` rests on.
};

/// Needs 16 changes of the set; with fewer the interval is 0 to infinity.
[[nodiscard]] OUROBOROS_API Placement placement(std::span<const Block> blocks, std::size_t arm,
                                                double offset_us);

struct Quantiles {
  double p5 = 0.0;
  double p50 = 0.0;
  double p95 = 0.0;
};

/// Linear between order statistics (type 7 of Hyndman and Fan). Needs one value.
[[nodiscard]] OUROBOROS_API Quantiles quantiles(std::span<const double> values);

/// Whether median and trimmed mean lie apart: the mark of several modes, which neither describes.
struct Multimodality {
  bool fired = false;
  double difference = 0.0;  ///< median / trimmed mean - 1
  double bound = 0.0;       ///< What |difference| had to exceed.
  Quantiles quantiles;      ///< In the unit of the values.
};

/// Of positive values, at least 4. The bound is 1 %, or three standard errors of the trimmed mean
/// where that is more: a median of few noisy values strays as far by itself.
[[nodiscard]] OUROBOROS_API Multimodality multimodality(std::span<const double> values,
                                                        double trim);

/// A decision after its audit.
struct Conclusion {
  Decision decision = Decision::undecided;
  bool contradicted = false;  ///< It was faster or slower, and the sign-flip test disagreed.
  double sign_flip_p = 1.0;   ///< See sign_flip_p_value; 1 without blocks.
};

/// `look` was taken of `block_log_ratios` under `plan`. Where it says faster or slower while random
/// signs give as extreme a mean with probability above plan.alpha, the decision becomes
/// `ambiguous`. Up to 5 blocks have too few sign vectors to contradict at 5 %: 2 of 2^n are always
/// as extreme.
[[nodiscard]] OUROBOROS_API Conclusion conclude(const Look& look,
                                                std::span<const double> block_log_ratios,
                                                const Plan& plan, std::uint64_t seed);

// ---- Traces in files
// -----------------------------------------------------------------------------

/// {"trace_version": 1, "columns": [...], "blocks": [{"set": 0, "samples": [[...], ...]}, ...]},
/// one block a line; a sample is an array in the order of `columns`. Numbers keep all their bits.
[[nodiscard]] OUROBOROS_API std::string to_json(std::span<const Block> blocks);

/// Reads what to_json writes. Throws Error{invalid_argument} that names the place of what is wrong.
[[nodiscard]] OUROBOROS_API std::vector<Block> trace_from_json(std::string_view json);

}  // namespace ouroboros::timing
