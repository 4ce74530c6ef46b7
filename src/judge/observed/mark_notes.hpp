#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"
#include "judge/observed/exact_integers.hpp"
#include "judge/observed/rescaled.hpp"
#include "judge/observed/scores.hpp"
#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

/// What a reference asks of its inputs. Numbers are ascending; drawn by chance alone they would
/// hardly be met.
struct Marks {
  /// Those that it compares integers with, cuts them off at or leaves out as an `ignore_index`, and
  /// where quotients and shifts of them step.
  std::vector<std::int64_t> whole;
  std::vector<RealMark> real;
  std::vector<Mask> masks;            ///< Inputs that it treats as one does masks.
  std::vector<std::size_t> distinct;  ///< Inputs that say where it writes.
  std::vector<std::size_t> exact;     ///< See `ExactIntegers`.
  bool scores = false;                ///< See `Scores`.
  bool nan = false;                   ///< It asks which of its numbers are NaN, or steps over them;
  bool inf = false;                   ///< which are infinite.
  /// It has an answer where masks, lengths and padded indices say that nothing is there.
  bool answers_nothing = false;
};

/// What is noted of a reference while it runs.
struct MarkNotes {
  const Problem& problem;
  const Tensors& inputs;
  std::set<std::int64_t> whole = {};
  std::set<RealMark> real = {};
  std::set<std::size_t> masks = {};
  std::set<std::size_t> distinct = {};
  std::set<std::int64_t> softmaxes = {};  ///< Extents along which they are taken.
  /// It asks whether anything is left, or is a number, or divides by one where nothing is left.
  bool of_nothing = false;
  bool nan = false;
  bool inf = false;
  bool exponentials = false;  ///< It takes some.
  Scores scores;
  ExactIntegers exact;
  Rescaled rescaled;
};

/// Those of an operator whose arguments end `stack`. `computed`: all but the reference's constants.
void note_marks(std::string_view name, const c10::FunctionSchema& schema,
                const torch::jit::Stack& stack, const TensorSet& computed, MarkNotes& notes);

/// What they come to.
[[nodiscard]] Marks summary_of(const MarkNotes& notes);

}  // namespace ouroboros::judge
