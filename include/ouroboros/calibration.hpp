#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/timing.hpp"

namespace ouroboros {

/// How fast memory moves in one mix and size, behind a clean flush, launch cost subtracted.
struct CopyPoint {
  int reads = 0;           ///< Streams read ...
  int writes = 0;          ///< ... for so many written.
  std::int64_t bytes = 0;  ///< Read and written together.
  timing::Interval gbps;
};

/// How cold a flush of one size leaves the cache.
struct FlushPoint {
  std::int64_t bytes = 0;
  timing::Interval read_us;  ///< Behind it, of a read of as much as the cache holds.
};

/// What a GPU's clock can and cannot resolve, and what its memory can do. Intervals are at 95 %.
/// docs/timing.md says how each figure is measured.
struct OUROBOROS_API Calibration {
  std::string device;
  std::string driver_version;
  std::string measured_at;     ///< UTC, ISO 8601.
  double tick_ns = 0.0;        ///< Of which elapsed times between events are whole multiples.
  double tick_error_ns = 0.0;  ///< Half of its 95 % interval: from how far they are from that.
  /// What a launch adds to the time of a kernel that runs for ten microseconds, by way of
  /// submission.
  std::map<std::string, timing::Interval> launch_us;
  /// From the end of one kernel to the begin of the next, likewise.
  std::map<std::string, timing::Interval> gap_us;
  std::map<std::string, timing::Interval> empty_us;  ///< All of an empty kernel's time, likewise.
  timing::Interval flush_us;                         ///< One pass of the clean flush.
  std::int64_t flush_bytes = 0;
  std::vector<FlushPoint> flush_sizes;
  timing::Interval clean_copy_us;  ///< A copy of 8 MiB behind the clean flush ...
  timing::Interval
      dirty_copy_us;             ///< ... behind a memset, which leaves lines to be written back ...
  timing::Interval hot_copy_us;  ///< ... and behind itself.
  double globaltimer_step_ns = 0.0;        ///< The smallest of the second clock that was seen.
  double globaltimer_step_error_ns = 0.0;  ///< How far apart several looks were.
  /// From the memory's clock and width, which the driver says; 0 where it does not. No measurement,
  /// and so without an interval.
  double peak_gbps = 0.0;
  std::vector<CopyPoint> copy_curve;
  timing::Interval aa_speedup;     ///< A copy of 64 MiB against itself, 32 blocks.
  std::vector<std::string> notes;  ///< Where a figure is missing, or cannot be believed.

  /// The time that a copy of as many bytes in the same mix of reads and writes takes, in
  /// microseconds: interpolated between measured sizes (logarithms of time and size) and mixes
  /// (linearly in the share of reads). 0 without a curve.
  [[nodiscard]] double floor_us(double bytes_read, double bytes_written) const;

  [[nodiscard]] std::string to_json(int indent = -1) const;
  /// Throws `Error{invalid_argument}` that names the offending key.
  [[nodiscard]] static Calibration from_json(std::string_view json);
};

class CudaExecutor;

/// The calibration of an executor's GPU: kept for each GPU, driver and boot of the machine, in this
/// process and in `$OUROBOROS_CACHE`, else `$XDG_CACHE_HOME/ouroboros`, else `~/.cache/ouroboros`.
/// `fresh` measures anew. A cache that cannot be read or written costs a measurement, no more.
[[nodiscard]] OUROBOROS_API Calibration calibration(CudaExecutor& executor, bool fresh = false);

}  // namespace ouroboros
