#include <algorithm>
#include <cmath>
#include <vector>

#include "ouroboros/calibration.hpp"

namespace ouroboros {
namespace {

double share_of_reads(const CopyPoint& point) {
  return static_cast<double>(point.reads) / static_cast<double>(point.reads + point.writes);
}

double time_us(const CopyPoint& point) {
  return static_cast<double>(point.bytes) / (point.gbps.estimate * 1e3);
}

/// The time of `bytes` on the points of one mix, which are sorted by size. Below the smallest it
/// stays that one's, because latency does not shrink; above the largest the bandwidth stays.
double on_mix(const std::vector<CopyPoint>& points, double bytes) {
  const auto above = std::find_if(points.begin(), points.end(), [&](const CopyPoint& point) {
    return static_cast<double>(point.bytes) >= bytes;
  });
  if (above == points.begin()) {
    return time_us(points.front());
  }
  if (above == points.end()) {
    return bytes / (points.back().gbps.estimate * 1e3);
  }
  const auto& low = *(above - 1);
  const auto& high = *above;
  const double at = std::log(bytes / static_cast<double>(low.bytes)) /
                    std::log(static_cast<double>(high.bytes) / static_cast<double>(low.bytes));
  return std::exp((1 - at) * std::log(time_us(low)) + at * std::log(time_us(high)));
}

}  // namespace

double Calibration::floor_us(double bytes_read, double bytes_written) const {
  const double bytes = bytes_read + bytes_written;
  if (copy_curve.empty() || !(bytes > 0)) {
    return 0.0;
  }
  std::map<double, std::vector<CopyPoint>> mixes;
  for (const auto& point : copy_curve) {
    mixes[share_of_reads(point)].push_back(point);
  }
  for (auto& [share, points] : mixes) {
    std::sort(points.begin(), points.end(),
              [](const CopyPoint& a, const CopyPoint& b) { return a.bytes < b.bytes; });
  }
  const double share = bytes_read / bytes;
  const auto above = mixes.lower_bound(share);
  if (above == mixes.end()) {
    return on_mix(mixes.rbegin()->second, bytes);
  }
  if (above == mixes.begin() || above->first == share) {
    return on_mix(above->second, bytes);
  }
  const auto& [low_share, low] = *std::prev(above);
  const double at = (share - low_share) / (above->first - low_share);
  return (1 - at) * on_mix(low, bytes) + at * on_mix(above->second, bytes);
}

}  // namespace ouroboros
