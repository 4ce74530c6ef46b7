#include "judge/tolerance/close_calls.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <utility>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/ranks.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/complements.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/run.hpp"
#include "judge/tolerance/tolerance.hpp"

namespace ouroboros::judge {
namespace {

/// All numbers grow or shrink in size alike, or go up or down alike, as halves do that are rounded
/// so.
constexpr std::array ways{std::pair{Moves::together, 1.0}, std::pair{Moves::together, -1.0},
                          std::pair{Moves::up, 1.0}, std::pair{Moves::up, -1.0}};
// Of two numbers that are compared, one has to go up while the other goes down: a quarter of all
// random moves. After so many one close call in a thousand is left.
constexpr int most_moves = 26;
/// Where these change nothing there are no close calls: in the random ones a close call shows in
/// half.
constexpr int first_moves = 10;

// What smooth results move by with such a move is up to twice what is allowed: both are measured in
// few draws. What is allowed of 16 bits is far more than that.
constexpr double least_jump = 4.0;
constexpr double least_jump_of_16_bits = 1.0;

/// Of the runs in which what is computed on the way moves by as much as it may be off.
constexpr int slack_runs = 4;

bool is_real(const at::Tensor& tensor) { return tensor.is_floating_point(); }

/// How precise real numbers are: what float32 problems are allowed anyway, relative to a result.
double precision_of(DType dtype) noexcept { return dtype == DType::float64 ? 0x1p-42 : 0x1p-18; }

at::Tensor distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kLong) - b.to(at::kLong)).abs_().to(at::kDouble);
}

/// How far who lands where `outputs` jumped to may be from `oracle`: there one has an error as
/// well. More than without the jump, and 0 where they merely moved.
at::Tensor jump(const at::Tensor& outputs, const at::Tensor& oracle, const at::Tensor& least,
                const Tolerance& rule) {
  const auto off = (outputs - oracle).abs_().nan_to_num_(0.0, 0.0);
  const auto there = at::maximum(rule.allowed(outputs), rule.allowed(oracle));
  return (off + there).masked_fill_(off.le(least), 0.0);
}

class CloseCalls {
 public:
  // Numbers that are equal compare alike in any arithmetic: they move as one, and only what is
  // added up moves term by term. What an oracle of the problem's own adds up nobody sees.
  CloseCalls(const Problem& problem, const Case& one)
      : problem_(problem),
        one_(one),
        given_(raise(one.inputs)),
        moves_(problem.oracle ? Moves::by_place : Moves::by_value) {
    for (std::size_t i = 0; i < one.oracle.size(); ++i) {
      const auto& oracle = one.oracle[i];
      const bool real = is_real(oracle);
      const bool judged = !real || (one.edges && oracle.scalar_type() == at::kDouble);
      allowed_.push_back(judged ? at::zeros(oracle.sizes(), oracle.options().dtype(at::kDouble))
                                : at::Tensor());
      of_ties_.push_back(real || !judged ? at::Tensor() : at::zeros_like(allowed_.back()));
      const auto factor = is_narrow(one.reference[i]) ? least_jump_of_16_bits : least_jump;
      least_.push_back(real && judged ? one.allowed[i].mul(factor) : at::Tensor());
    }
    of_reference_.resize(one.oracle.size());
  }

  /// Where equal numbers are put in order, any of them may come first. An output that is their
  /// places is judged by the numbers there; of what else comes of the order two runs must tell.
  void look_at_ties() {
    // Numbers that were computed, and are as good as equal, are ties to some.
    const double near = precision_of(one_.spec.dtype);
    std::vector<Ranks> found;
    Inside ordered;
    ordered.given = &given_;
    ordered.single = one_.spec.dtype != DType::float64;
    ordered.ranks = &found;
    (void)run_oracle(problem_, one_.spec, raise(one_.inputs), ordered);
    if (found.empty()) return;
    find_slack(ordered, near, found);
    ordered.ranks = nullptr;
    find_ranks(found);
    if (has_16_bits(one_.spec.dtype) && !reference_is_right()) {
      find_slack(ordered, format_of(one_.spec.dtype).epsilon, found);
      find_ranks(found);
    }
    for (const double later : {near, -near}) {
      ordered.ties = later;
      add(run_oracle(problem_, one_.spec, raise(one_.inputs), ordered), From::ties);
    }
  }

  void look(double by) {
    for (int time = 0; time < most_moves; ++time) {
      if (time == first_moves && !found_) return;
      const auto key = random::key(~one_.spec.seed, 1000 + static_cast<std::uint64_t>(time));
      const bool chance = time >= std::ssize(ways);
      const auto [moves, way] =
          chance ? std::pair{moves_, 1.0} : ways[static_cast<std::size_t>(time)];
      Inside inside;
      inside.seed = random::key(key, 1000);
      inside.most_calls = most_calls(one_);
      inside.given = &given_;
      if (chance) move_on_the_way(inside, by);
      const auto inputs = moved(one_.inputs, way * by, moves, key);
      if (const auto made = run_moved(problem_, one_.spec, inputs, inside)) add(*made);
    }
  }

  /// What a running sum drifts by, all the same way, no move shows.
  void add_loops(const std::vector<Tensors>& loops) {
    for (const auto& made : loops) add(raise(made));
  }

  /// Returns whether the reference has integers that no move had. The errors of its real results
  /// are in what they are allowed.
  bool add_reference() {
    bool more = false;
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      if (!allowed_[i].defined() || least_[i].defined()) continue;
      require_shape(problem_, one_, i, one_.reference[i]);
      of_reference_[i] = distance(one_.reference[i], one_.oracle[i]);
      more = more || of_reference_[i].gt(allowed_[i] + of_ties_[i]).any().item().toBool();
    }
    return more;
  }

  /// Of output `i`, which was allowed `otherwise`.
  [[nodiscard]] at::Tensor allowed(std::size_t i, const at::Tensor& otherwise) const {
    if (!allowed_[i].defined()) return otherwise;
    if (least_[i].defined()) return at::maximum(allowed_[i], otherwise);
    // What is equal stays so in moves: both make counts others.
    const auto either = allowed_[i] + of_ties_[i];
    return of_reference_[i].defined() ? at::maximum(either, of_reference_[i]) : either;
  }

  [[nodiscard]] const std::vector<Ranks>& ranks() const noexcept { return ranks_; }

 private:
  enum class From : std::uint8_t { moves, ties };

  void find_ranks(const std::vector<Ranks>& found) {
    ranks_.clear();
    for (const auto& oracle : one_.oracle) ranks_.push_back(ranks_of(oracle, found));
  }

  /// Whether the reference has an order that is as good as the oracle's.
  [[nodiscard]] bool reference_is_right() const {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (!ranks_[i].numbers.defined()) continue;
      const auto& made = one_.reference[i];
      if (!without_ties(made, ranks_[i]).to(at::kLong).equal(one_.oracle[i])) return false;
    }
    return true;
  }

  /// Terms of sums move by `by`. What is a difference of larger numbers, and exponentials, are off
  /// by as much as such a one of inputs that are off by `by` is allowed to be: half of that of the
  /// larger numbers, or a few roundings.
  void move_on_the_way(Inside& inside, double by) const {
    inside.terms = by;
    inside.probabilities = true;
    inside.step = by / 2;
    inside.of_differences = lost_in_differences(one_.spec.dtype);
  }

  /// How far apart numbers may be that some take for equal: `near`, relative, where they were
  /// computed, and what roundings on the way make of them. A score near one plus a bias near -1
  /// says little. Those that were given are equal or not.
  void find_slack(const Inside& ordered, double near, std::vector<Ranks>& found) const {
    for (auto& one : found) take_near_for_equal(one, near, ordered.single);
    if (std::ranges::all_of(found, &Ranks::given)) return;
    for (int run = 0; run < slack_runs; ++run) {
      std::vector<Ranks> moved;
      auto inside = ordered;
      inside.ranks = &moved;
      inside.seed = random::key(~one_.spec.seed, 2000 + static_cast<std::uint64_t>(run));
      inside.most_calls = most_calls(one_);
      move_on_the_way(inside, near);
      (void)run_moved(problem_, one_.spec, raise(one_.inputs), inside);
      for (std::size_t i = 0; i < std::min(found.size(), moved.size()); ++i) {
        auto& one = found[i];
        if (one.given || !moved[i].numbers.sizes().equals(one.numbers.sizes())) continue;
        const auto off = (moved[i].numbers - one.numbers).abs_().nan_to_num_(0.0, 0.0);
        one.slack = at::maximum(one.slack, off);
      }
    }
  }

  void add(const Tensors& outputs, From from = From::moves) {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const bool real = least_[i].defined();
      if (!allowed_[i].defined() || (from == From::ties && ranks_[i].numbers.defined())) continue;
      require_shape(problem_, one_, i, outputs[i]);
      // Ties alone make others of numbers that did not move, however small these are.
      const auto least = real && from == From::ties ? at::zeros_like(least_[i]) : least_[i];
      auto off = real ? jump(outputs[i], one_.oracle[i], least, *one_.tolerances[i])
                      : distance(outputs[i], one_.oracle[i]);
      if (real && from == From::ties) off = as_of_any(off, outputs[i], i);
      found_ = found_ || off.any().item().toBool();
      auto& allowed = !real && from == From::ties ? of_ties_[i] : allowed_[i];
      allowed = at::maximum(allowed, off);
    }
  }

  /// Two orders of many equal numbers are not all there are: what hangs on another one may be twice
  /// as far off as anything that hangs on these.
  [[nodiscard]] at::Tensor as_of_any(const at::Tensor& off, const at::Tensor& output,
                                     std::size_t i) const {
    const auto hangs = jump(output, one_.oracle[i], least_[i], *one_.tolerances[i]).gt(0.0);
    return hangs.any().item().toBool() ? at::where(hangs, off.max() * 2.0, off) : off;
  }

  const Problem& problem_;
  const Case& one_;
  const Tensors given_;
  const Moves moves_;
  Tensors allowed_;       ///< Undefined where nothing hangs on a close call.
  Tensors of_ties_;       ///< Of integers: what other orders of equal numbers make of them,
  Tensors of_reference_;  ///< and what the reference does; undefined before that is known.
  Tensors least_;         ///< Of real outputs: what is a jump, and no move.
  std::vector<Ranks> ranks_;
  bool found_ = false;
};

}  // namespace

void allow_close_calls(const Problem& problem, Case& one, const std::vector<Tensors>& loops) {
  const bool integers = !std::all_of(one.oracle.begin(), one.oracle.end(), is_real);
  const bool real_inputs = std::any_of(one.inputs.begin(), one.inputs.end(), is_real);
  CloseCalls calls(problem, one);
  if (integers || one.edges) calls.look_at_ties();
  // Integers that are what some arithmetic made of integers are no close calls; what was rounded
  // or compared on the way may have been real, as the coefficients of a transform of bytes are.
  if ((integers && real_inputs) || one.edges) {
    calls.add_loops(loops);
    calls.look(precision_of(one.spec.dtype));
    if (calls.add_reference() && has_16_bits(one.spec.dtype)) {
      // Two roundings to the case's own dtype.
      calls.look(format_of(one.spec.dtype).epsilon);
    }
  }
  for (std::size_t i = 0; i < one.allowed.size(); ++i) {
    one.allowed[i] = calls.allowed(i, one.allowed[i]);
  }
  one.ranks = calls.ranks();
}

}  // namespace ouroboros::judge
