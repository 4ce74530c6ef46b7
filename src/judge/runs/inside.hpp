#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Sums by plain loops, one term after the other; and what came of them.
struct Loops {
  int order = 0;     ///< Of the terms: one of `judge::orders`.
  bool any = false;  ///< Something was added up.
  bool all = true;   ///< It is known how everything was that may have been, or of how many terms.
  std::int64_t terms = 1;  ///< Of the longest sum of which only the number of terms is known.
  /// Numbers were multiplied in an order in which they leave the range of their type on the way.
  bool left_range = false;
};

struct MarkNotes;
class Logistic;

/// What else happens inside a promoted reference, to learn what may happen inside a kernel.
struct Inside {
  /// By so much, times 3/4 to 5/4 and up or down at random, results move of operators that are
  /// commonly written as one number less another near it: log(1 + exp(x)), exp(x) - 1. By a share
  /// of it those do that few compute to the last bit: exponentials, and what is made of constants.
  double step = 0.0;
  /// Logarithms all move upwards: those of equal numbers err alike.
  bool logarithms_up = false;
  /// By so much whole terms of sums move that float32 does not add up exactly.
  double large_wholes = 0.0;
  /// Differences move by this share of their larger term and of `step`. See `lost_in_differences`.
  double of_differences = 0.0;
  /// What the factors of products of matrices are rounded to, as tensor cores want them. Where
  /// there is a seed, those that this changes are moved by about half a unit in the last place
  /// first: who computes them otherwise rounds otherwise.
  std::optional<at::ScalarType> factors;
  /// Inputs are multiplied that have eight bits, which tensor cores add up with some fourteen.
  bool eight_bits = false;
  /// With differences those probabilities move, each for itself, that only add up to one.
  bool probabilities = false;
  /// Of so many bits are products of matrices, and sums such as what a bias makes of them: close
  /// ones tie. 0: of all that they have.
  int bits_of_products = 0;
  std::uint64_t seed = 0;  ///< Of what moves.
  /// Real numbers that are put in an order that PyTorch leaves open (`topk`, `sort`, ...) are
  /// larger by up to so much, relative, the higher their index is; smaller where it is negative.
  double ties = 0.0;
  /// Where these are set, numbers in tensors of this shape are larger by `favour` of their size,
  /// and smaller where it is negative: the inputs' by less than tells two of them apart, and what
  /// an operator computes in that shape by as much, unless it is exact.
  const at::Tensor* favoured = nullptr;
  double favour = 0.0;
  /// By so much, relative and each in its own way, terms of sums move that are not whole.
  double terms = 0.0;
  bool single = false;                  ///< Numbers are put in such an order as float32 has them.
  std::vector<Ranks>* ranks = nullptr;  ///< Where such orders are noted.
  /// Where the number of terms of the longest sum over several axes is noted, if it is larger.
  std::int64_t* most_terms = nullptr;
  /// Where the longest extent of what is given to operators that add is noted, if it is larger; of
  /// those that `most_terms` knows, their terms.
  std::int64_t* longest_added = nullptr;
  Loops* loops = nullptr;  ///< Sums are made by plain loops, where it is known how they are made.
  /// Where the largest finite number of a product of matrices is noted, if it is larger.
  double* largest_product = nullptr;
  /// The inputs before they moved: what is rounded or compared just as it was given, or as it was
  /// chosen from what was given, does not move.
  const Tensors* given = nullptr;
  /// Set where something is rounded or compared that was computed from the inputs, or put in an
  /// order that PyTorch leaves open; needs `given` and `of_differences`.
  bool* edges = nullptr;
  MarkNotes* marks = nullptr;    ///< See `MarkNotes`.
  Logistic* logistic = nullptr;  ///< Where it is noted what becomes of sigmoids.
  /// Sigmoids move by what their form with a tanh loses in arithmetic of this roundoff. 0: not.
  double tanh_form = 0.0;
  /// Where it is noted how many operators were called.
  std::int64_t* calls = nullptr;
  /// Who calls more of them raises: a reference that goes on until something is small enough may
  /// never get there where numbers move. 0: any number.
  std::int64_t most_calls = 0;
  /// Where the elements of every result are noted that has memory of its own.
  std::vector<std::int64_t>* results = nullptr;
};

}  // namespace ouroboros::judge
