#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "referee/race.hpp"
#include "referee/stages.hpp"

/// The stages for candidates that run on a GPU.
namespace ouroboros::referee::device {

/// Of what is compared as launch plans, whoever made them.
inline constexpr std::string_view plan_language = "plan";

/// Whether candidates in this language run on a GPU.
[[nodiscard]] bool serves(std::string_view language) noexcept;

/// The dtypes of a problem that GPU candidates are asked for, unless the caller says otherwise: not
/// float64, at which most GPUs are slow on purpose and kernels are seldom aimed.
[[nodiscard]] std::vector<DType> dtypes(const Problem& problem);

/// Names the GPU in a record, where there is one.
void describe_gpu(const Options& options, Provenance& provenance);

/// What the GPU's clock can resolve: measured once, then kept.
[[nodiscard]] Calibration calibrated(const Options& options, bool fresh = false);

/// Why nothing can be timed here, as a note; empty where there is a GPU.
[[nodiscard]] std::optional<Finding> cannot_time(const Options& options);

/// Traces or compiles `compiled.candidate` for a small case of each dtype.
void compile(const Problem& problem, const Options& options, Compiled& compiled);

/// Runs the cases on the GPU; where there is none, Triton candidates in the interpreter. Others
/// cannot be judged then, which is `infrastructure_error`.
[[nodiscard]] SweepOutcome sweep(const Problem& problem, const Compiled& compiled,
                                 const CasePool& pool, const Options& options);

[[nodiscard]] std::unique_ptr<Race> make_race(const Problem& problem, const Compiled& compiled,
                                              const judge::CaseSpec& cell, std::uint64_t seed,
                                              const Options& options, Context context);

}  // namespace ouroboros::referee::device
