#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/problem.hpp"
#include "ouroboros/verdict.hpp"

/// Cases, the oracle and the comparison: what "correct" means. No processes, no clocks.
namespace ouroboros::judge {

/// A real number that the reference compares an input's with.
struct RealMark {
  enum class Role : std::uint8_t {
    sentinel,   ///< For being equal to it, as what stands for a value that is missing.
    threshold,  ///< For being above or below it.
    limit,      ///< For being beyond it: results are the same from either side.
  };
  std::size_t input = 0;  ///< Its place among the problem's.
  double value = 0.0;     ///< Finite.
  Role role = Role::sentinel;
  auto operator<=>(const RealMark&) const = default;
};

/// An input that says what is there, and a dimension along which something has to be.
struct Mask {
  std::size_t input = 0;  ///< Its place among the problem's.
  std::size_t dim = 0;    ///< Of its shape.
  auto operator<=>(const Mask&) const = default;
};

/// A case before its tensors exist.
struct CaseSpec {
  int id = 0;
  DType dtype = DType::float32;
  AxisValues axes;
  std::string family;      ///< Of the value families in docs/concepts.md.
  std::uint64_t seed = 0;  ///< Of this case alone, derived from the verdict's seed.
  std::string along =
      {};  ///< The axis that a family's rows lie along; empty: the last of each input.
  /// Whole numbers that somebody's code asks for. Some indices and integers are one of them or its
  /// neighbour, but for the families "normal", "equal" and, of indices, "spike".
  std::vector<std::int64_t> marks = {};
  /// In the families "uniform" and "patchwork" one real number in eight is a sentinel of its
  /// input's, and in half of the rows one is what a threshold or a limit is met by.
  std::vector<RealMark> real_marks = {};
  /// Inputs that the reference treats as masks. Real ones are zeros and ones alone in the family
  /// "patchwork", and in half of "uniform". What is a mask has a one in each row along its
  /// dimension.
  std::vector<Mask> masks = {};
  /// Inputs whose indices say where the reference writes: none twice, as far as there are enough.
  /// Which of several writers is the last PyTorch does not say.
  std::vector<std::size_t> distinct = {};
  /// Inputs whose integers the reference makes no real numbers of. In the family "mixed" some of
  /// those of 32 and 64 bits differ by one or two, which float32 and float64 do not tell.
  std::vector<std::size_t> exact = {};
  /// Exponentials are taken of products of what is drawn, so families of large numbers have smaller
  /// ones: of larger scores float32 knows little but which one is the largest.
  bool scores = false;
};

/// The family as verdicts name it: "tiny", "patchwork along rows".
[[nodiscard]] std::string family_name(const CaseSpec& spec);

class Tolerance;

/// Numbers that were put in an order which PyTorch leaves open among equal ones, and an output that
/// says where each rank's number lies: any place of an equal one is right, but each only once.
struct Ranks {
  at::Tensor numbers;    ///< In float64; undefined for an output that is no such thing.
  at::Tensor places;     ///< As the oracle has them, along `dim`.
  std::int64_t dim = 0;  ///< Not negative.
  bool given = false;  ///< Nobody computes the numbers: they are the inputs', or chosen from them.
  bool first = false;  ///< Of numbers that are the same to the bit, the first is the answer.
  at::Tensor slack = {};  ///< Numbers are equal that differ by as much as one of them has here,
  double least = 0.0;     ///< and all that are smaller than this.
  at::Tensor exact = {};  ///< As they were before float32 made more of them the same.
  double near = 0.0;      ///< By so much, relative, computed numbers may be off.
};

/// Whether an output of a case has only numbers that are copied or chosen from the inputs.
enum class Copies : std::uint8_t {
  no,
  perhaps,  ///< Nothing in this case says that it has others.
  yes,
};

/// A case with everything that a comparison needs.
struct Case {
  CaseSpec spec;
  Tensors inputs;     ///< Contiguous, and like all others here on one device.
  Tensors reference;  ///< The reference's outputs in the case's dtype, contiguous.
  Tensors oracle;     ///< The true values in float64 (integers: in int64).
  /// Allowed absolute error of each element, float64, shaped as the outputs. Infinite where nobody
  /// can be held to a number: the reference leaves the range of its dtype, or a plain loop for it
  /// does on its way, or it has a number where there is no true value.
  Tensors allowed;
  std::int64_t lost = 0;     ///< Elements where the reference leaves its range.
  std::vector<Ranks> ranks;  ///< Of each output, where equal numbers may come in any order.
  /// The reference rounds or compares what it computed, or puts numbers in an order that is open.
  bool edges = false;
  std::int64_t calls = 0;  ///< Operators that the reference called; 0 where that is not known.

  /// Of how many terms sums may be where what is zero was cut off, and may be next to it; 0 where
  /// it was not.
  std::int64_t crossing_terms = 0;

  std::vector<Copies> copies;  ///< Of each output; see `hold_to_copies`.

  /// The rule that `allowed` came from, for each output: see `realise_again`.
  std::vector<std::shared_ptr<const Tolerance>> tolerances;
};

/// Derives about eighteen cases for each dtype: every derived shape and every value family at least
/// once.
[[nodiscard]] OUROBOROS_API std::vector<CaseSpec> derive_cases(const Problem& problem,
                                                               const std::vector<DType>& dtypes,
                                                               std::uint64_t seed);

/// Adds one for each dtype in which masks, lengths and padded indices say that nothing is there.
OUROBOROS_API void add_cases_of_nothing(std::vector<CaseSpec>& cases, std::uint64_t seed);

/// Draws inputs and computes reference, oracle and allowed errors.
/// Throws `ReferenceFault` when the reference raises, is nondeterministic, mutates its inputs or
/// returns something that is no tensor of a supported dtype.
/// Everything is made on the device `where`, with the same inputs on every device.
[[nodiscard]] OUROBOROS_API Case realise(const Problem& problem, const CaseSpec& spec,
                                         at::Device where = at::kCPU);

/// A case like `model`, where that is, with the inputs of `seed`, for a fraction of the cost: the
/// oracle runs once, and the allowed errors follow the rule that `model` learnt, which may be
/// too strict where this draw's terms cancel: `realise` has the last word. Both are of the family
/// "normal".
[[nodiscard]] OUROBOROS_API Case realise_again(const Problem& problem, const Case& model,
                                               std::uint64_t seed);

/// Allows nothing but the smallest numbers in outputs that have copies alone, in all cases of a
/// problem: whoever moves numbers keeps all their bits. One case tells little: over one column a
/// mean is a copy.
OUROBOROS_API void hold_to_copies(std::vector<Case>& cases);

/// The problem's own fault: the message is a sentence for the user.
class OUROBOROS_API ReferenceFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The reference raised. It may be meant for other extents or values than this case's.
class OUROBOROS_API ReferenceRaised : public ReferenceFault {
 public:
  using ReferenceFault::ReferenceFault;
};

/// A small case of the family "normal" that the reference takes, with inputs and reference alone:
/// which dtypes and shapes outputs have is known by running it.
[[nodiscard]] Case plain_case(const Problem& problem, DType dtype);

/// How to call a candidate for a case: entry point, buffers, sizes.
[[nodiscard]] OUROBOROS_API Call call_for(const Problem& problem, const Case& one);

/// C++ prototypes of the problem's entry points, one for each of its dtypes: docs/abi.md.
[[nodiscard]] OUROBOROS_API std::string prototypes(const Problem& problem);

/// The dtypes of a problem that C++ candidates can be asked for: not bfloat16, for which the oldest
/// compilers that we support have no arithmetic.
[[nodiscard]] OUROBOROS_API std::vector<DType> host_dtypes(const Problem& problem);

/// "run_float32" and so on.
[[nodiscard]] OUROBOROS_API std::string entry_point(DType dtype);

/// Whose arithmetic outputs came of. A GPU's float32 atomics flush numbers below the normal range
/// (PTX ISA, `red` and `atom` with `.add.f32`), and who sums by them can do no better.
enum class Arithmetic : std::uint8_t { host, gpu };

/// Compares candidate outputs (tensors over the arena's memory) with a case. Fills status, errors,
/// counts and, for a failure, a message that says where and by how much.
[[nodiscard]] OUROBOROS_API CaseResult compare(const Problem& problem, const Case& one,
                                               const Tensors& outputs,
                                               Arithmetic arithmetic = Arithmetic::host);

/// Inputs of a timed cell as tensors: shapes and dtypes only, contents undefined.
[[nodiscard]] OUROBOROS_API std::vector<Buffer> input_buffers(const Problem& problem, DType dtype,
                                                              const AxisValues& axes);

/// Draws fresh inputs of several cases of one shape, of the family "normal", straight into `into`,
/// quickly: this runs before every timed block. `realise` with the same seed and family draws the
/// same values.
OUROBOROS_API void draw_inputs(const Problem& problem, std::span<const CaseSpec> specs,
                               std::span<const Tensors> into);

/// Null candidates (zeros, ones, mean, first input, a previous case's output) must all be refused
/// by `cases`, the output must move when any input moves, and an oracle of the problem's own must
/// compute what the reference does. One sentence when that does not hold.
[[nodiscard]] OUROBOROS_API std::optional<std::string> validate(const Problem& problem,
                                                                const std::vector<Case>& cases);

}  // namespace ouroboros::judge
