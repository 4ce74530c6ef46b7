#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"

/// What a problem's own code makes of the inputs of a case.
namespace ouroboros::judge {

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

/// The same of inputs that moved. A reference that raises then asks for what moved numbers are not,
/// as that probabilities add up to one: nothing inside it moves in a second run, and where that
/// raises, too, there is nothing to be learnt.
[[nodiscard]] std::optional<Tensors> run_moved(const Problem& problem, const CaseSpec& spec,
                                               const Tensors& moved, const Inside& inside);

/// What the reference makes where it computes in float32, in float64 for cases in that, and does
/// not round to anything lower. Throws as `run_reference` does.
[[nodiscard]] Tensors run_unrounded(const Problem& problem, const CaseSpec& spec,
                                    const Tensors& inputs, const Inside& inside = {});

/// How many operators a run may call whose numbers move, or that adds up in another order; see
/// `Inside::most_calls`.
[[nodiscard]] std::int64_t most_calls(const Case& one) noexcept;

/// Throws `ReferenceFault` where output `i` of a case has another shape by other values.
void require_shape(const Problem& problem, const Case& one, std::size_t i,
                   const at::Tensor& output);

/// Whether the true values are numbers, all of them.
[[nodiscard]] bool is_finite(const Tensors& oracle);

/// For messages about a case: " (dtype float32, rows = 5, family normal)".
[[nodiscard]] std::string in_case(const CaseSpec& spec);

}  // namespace ouroboros::judge
