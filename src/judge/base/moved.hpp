#pragma once

#include <cstdint>

#include "ouroboros/problem.hpp"

/// Inputs of an oracle: in float64, as they were drawn or a little beside it.
namespace ouroboros::judge {

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

}  // namespace ouroboros::judge
