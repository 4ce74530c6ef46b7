#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ouroboros/trace.hpp"

/// What all functions of traces need of a block.
namespace ouroboros::timing {

/// Confidence and trim of every guard: at 99 % each, five guards together fire by mistake in a few
/// per cent of honest runs.
constexpr double guard_alpha = 0.01;
constexpr double guard_trim = 0.10;

/// The fewest values that a trimmed mean takes.
constexpr std::size_t fewest_values = 4;

/// What is wrong with a block, as the end of a sentence that begins with its place; empty: nothing.
[[nodiscard]] std::optional<std::string> complaint_about(const Block& block);

/// Throws Error{invalid_argument} unless every block is an order of arms and its mirror image, with
/// times that can be.
void require_valid(std::span<const Block> blocks);

/// The two runs of one arm in a block.
struct Meetings {
  const Sample& first;
  const Sample& second;
  bool middle;  ///< The arm turns the order around: its second run comes right after its first.
};

/// Of a valid block. Throws Error{invalid_argument} when the block lacks the arm.
[[nodiscard]] Meetings meetings(const Block& block, std::size_t arm);

/// latency_us - offset_us. Throws Error{invalid_argument} unless it is positive.
[[nodiscard]] double launch_free_us(const Sample& sample, double offset_us);

/// ln of the second run's time less that of the first, in one block.
[[nodiscard]] double second_less_first(const Meetings& of, double offset_us);

}  // namespace ouroboros::timing
