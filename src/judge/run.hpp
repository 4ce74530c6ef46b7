#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "judge/judge.hpp"

/// What cases are made of: inputs, and what the problem's own code makes of them.
namespace ouroboros::judge {

/// Draws every input of a case; real values are divided by 2^`shrink`.
[[nodiscard]] Tensors draw(const Problem& problem, const CaseSpec& spec, int shrink,
                           at::Device where = at::kCPU);

/// How many elements the inputs of a case have in all.
[[nodiscard]] std::int64_t input_elements(const Problem& problem, const CaseSpec& spec);

/// Runs the reference on copies of `inputs`. Its outputs are contiguous and of supported dtypes.
/// Throws `ReferenceFault` when it raises, writes to its inputs or returns anything else.
[[nodiscard]] Tensors run_reference(const Problem& problem, const CaseSpec& spec,
                                    const Tensors& inputs);

/// Whether an exception of LibTorch's or of Python's came of a want of memory: it says so, or there
/// is none now.
[[nodiscard]] bool is_want_of_memory(std::string_view message);

/// True values in float64 (integers in int64), from inputs that `raise` made. Nothing happens
/// inside an oracle of the problem's own.
[[nodiscard]] Tensors run_oracle(const Problem& problem, const CaseSpec& spec,
                                 const Tensors& raised, const Inside& inside = {});

/// What the reference makes where it computes in float32, in float64 for cases in that, and does
/// not round to anything lower. Throws as `run_reference` does.
[[nodiscard]] Tensors run_unrounded(const Problem& problem, const CaseSpec& spec,
                                    const Tensors& inputs, const Inside& inside = {});

/// Whether the true values are numbers, all of them.
[[nodiscard]] bool is_finite(const Tensors& oracle);

/// Copies with all real numbers in float64.
[[nodiscard]] Tensors raise(const Tensors& inputs);

/// What decides which way a number moves.
enum class Moves : std::uint8_t {
  together,  ///< Nothing, as the roundings of a long sum may well fall: all grow in size.
  up,        ///< Nothing: all go up, also those below zero.
  by_place,  ///< Chance, for each element.
  by_value,  ///< Its size alone: what is equal stays so, in all inputs, and so does what cancels.
};

/// As `raise`, with every real number moved, relative to itself: by `by` where nothing decides;
/// otherwise up or down at random, by 3/4 to 5/4 of `by`. With one size for all, terms
/// that cancel would often move as one. Masks stay.
[[nodiscard]] Tensors moved(const Tensors& inputs, double by, Moves moves, std::uint64_t seed);

/// The same by LibTorch's operators, which is what tensors on another device need.
[[nodiscard]] Tensors moved_by_operators(const Tensors& inputs, double by, Moves moves,
                                         std::uint64_t seed);

/// For messages about a case: " (dtype float32, rows = 5, family normal)".
[[nodiscard]] std::string in_case(const CaseSpec& spec);

}  // namespace ouroboros::judge
