#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ouroboros/trace.hpp"
#include "timing/blocks.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

// Fewer blocks than the first planned look carry no verdict, and one or two bad ones among them may
// be chance: single outliers strike 0.1 % of samples on a busy machine.
constexpr int kFewestBlocks = 16;
constexpr int kFewestVoid = 4;
constexpr double kLargestShare = 0.10;

bool too_many(int bad, int of) {
  return of >= kFewestBlocks && bad >= kFewestVoid &&
         static_cast<double>(bad) > kLargestShare * static_cast<double>(of);
}

void insert_sorted(std::vector<double>& sorted, double value) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
}

double median(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

double median_flush(const Block& block) {
  std::vector<double> flushes;
  for (const Sample& sample : block.samples) flushes.push_back(sample.flush_us);
  std::sort(flushes.begin(), flushes.end());
  return median(flushes);
}

/// Mean over the samples that have a clock; 0 where none has.
double mean_clock(const Block& block) {
  double sum = 0.0;
  int known = 0;
  for (const Sample& sample : block.samples) {
    sum += sample.clock_mhz;
    known += sample.clock_mhz > 0.0 ? 1 : 0;
  }
  return known > 0 ? sum / known : 0.0;
}

bool flush_out_of_band(const Block& block, double expected, double tolerance) {
  return std::any_of(block.samples.begin(), block.samples.end(), [&](const Sample& sample) {
    return std::abs(sample.flush_us - expected) > tolerance * expected;
  });
}

bool span_disagrees(const Sample& sample, const Bands& bands) {
  if (sample.span_us == 0.0) return false;
  const double work = sample.flush_us + sample.latency_us;
  return sample.span_us < work - bands.span_missing_us ||
         sample.span_us > bands.span_factor * work + bands.span_allowance_us;
}

}  // namespace

std::string_view to_string(Void reason) noexcept {
  switch (reason) {
    case Void::none:
      return "none";
    case Void::starved:
      return "starved";
    case Void::flush:
      return "flush";
    case Void::clock:
      return "clock";
    case Void::span:
      return "span";
  }
  return "unknown";
}

BlockFilter::BlockFilter(const Bands& bands) : bands_(bands) {
  const auto bound = [](double value) { return std::isfinite(value) && value >= 0.0; };
  require(bound(bands.flush_us), "the flush must be finite and not negative");
  require(bound(bands.flush_tolerance), "the flush's tolerance must be finite and not negative");
  require(bound(bands.least_clock), "the least clock must be finite and not negative");
  require(bound(bands.span_missing_us) && bound(bands.span_allowance_us),
          "the allowances for the span must be finite and not negative");
  require(std::isfinite(bands.span_factor) && bands.span_factor >= 1.0,
          "the span's factor must be at least 1");
}

Void BlockFilter::admit(const Block& block) {
  require_valid(std::span(&block, 1));
  const Void reason = [&] {
    const auto& samples = block.samples;
    if (std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.starved; })) {
      return Void::starved;
    }
    const double clock = mean_clock(block);
    const bool slow =
        clock > 0.0 && !clocks_.empty() && clock < bands_.least_clock * median(clocks_);
    if (clock > 0.0) insert_sorted(clocks_, clock);

    const double own_flush = median_flush(block);
    const double expected = bands_.flush_us > 0.0 ? bands_.flush_us
                            : flushes_.empty()    ? own_flush
                                                  : median(flushes_);
    if (flush_out_of_band(block, expected, bands_.flush_tolerance)) return Void::flush;
    if (slow) return Void::clock;
    if (std::any_of(samples.begin(), samples.end(),
                    [&](const Sample& s) { return span_disagrees(s, bands_); })) {
      return Void::span;
    }
    insert_sorted(flushes_, own_flush);
    return Void::none;
  }();
  ++counts_[static_cast<std::size_t>(reason)];
  return reason;
}

int BlockFilter::seen() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), 0);
}

int BlockFilter::count(Void reason) const noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return index < counts_.size() ? counts_[index] : 0;
}

int BlockFilter::admitted() const noexcept { return count(Void::none); }

bool BlockFilter::unstable() const noexcept {
  // Starved blocks were examined for nothing else, so they belong on neither side of the share.
  const int examined = seen() - count(Void::starved);
  return too_many(examined - admitted(), examined);
}

bool BlockFilter::starving() const noexcept { return too_many(count(Void::starved), seen()); }

std::string BlockFilter::why() const {
  std::string text = fmt::format("Of {} blocks {} count", seen(), admitted());
  const char* separator = "; void: ";
  const auto add = [&](Void reason, const char* phrase) {
    if (count(reason) == 0) return;
    text += fmt::format("{}{} {}", separator, count(reason), phrase);
    separator = ", ";
  };
  add(Void::starved, "starved");
  add(Void::flush, "by their flush");
  add(Void::clock, "by their clock");
  add(Void::span, "by the second clock");
  return text + ".";
}

}  // namespace ouroboros::timing
