#include "timing/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

bool known_or_zero(double value) { return std::isfinite(value) && value >= 0.0; }

std::optional<std::string> complaint_about(const Sample& sample) {
  if (!std::isfinite(sample.latency_us) || sample.latency_us <= 0.0) {
    return "has a latency that is not positive and finite";
  }
  if (!known_or_zero(sample.flush_us) || !known_or_zero(sample.span_us) ||
      !known_or_zero(sample.clock_mhz)) {
    return "has a flush, a span or a clock that is negative or not finite";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> complaint_about(const Block& block) {
  const auto& samples = block.samples;
  const std::size_t arms = samples.size() / 2;
  if (samples.empty() || samples.size() % 2 != 0) return "has not two samples of each arm";
  for (std::size_t i = 0; i < arms; ++i) {
    if (samples[i].arm != samples[samples.size() - 1 - i].arm) {
      return "is not an order of arms and its mirror image";
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (samples[i].arm == samples[j].arm) {
        return fmt::format("has arm {} more than twice", samples[i].arm);
      }
    }
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (const auto complaint = complaint_about(samples[i])) {
      return fmt::format("{} (sample {})", *complaint, i);
    }
  }
  return std::nullopt;
}

void require_valid(std::span<const Block> blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (const auto complaint = complaint_about(blocks[i])) {
      throw Error(ErrorCode::invalid_argument, fmt::format("block {} {}", i, *complaint));
    }
  }
}

Meetings meetings(const Block& block, std::size_t arm) {
  const auto& samples = block.samples;
  const std::size_t arms = samples.size() / 2;
  for (std::size_t i = 0; i < arms; ++i) {
    if (samples[i].arm == arm) {
      return {samples[i], samples[samples.size() - 1 - i], i + 1 == arms};
    }
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("a block has no samples of arm {}", arm));
}

double launch_free_us(const Sample& sample, double offset_us) {
  require(std::isfinite(offset_us) && offset_us >= 0.0,
          "the offset must be finite and not negative");
  const double time = sample.latency_us - offset_us;
  if (!(time > 0.0)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a latency of {} us is not above the offset of {} us",
                            sample.latency_us, offset_us));
  }
  return time;
}

double second_less_first(const Meetings& of, double offset_us) {
  return std::log(launch_free_us(of.second, offset_us)) -
         std::log(launch_free_us(of.first, offset_us));
}

}  // namespace ouroboros::timing
