#include "executor/cuda/calibration.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ouroboros/cuda_executor.hpp"

namespace ouroboros::cuda {
namespace {

using nlohmann::json;
using timing::Interval;

constexpr double alpha = 0.05;
constexpr double trim = 0.10;

/// Elapsed times are whole ticks, up to the rounding of a float of milliseconds.
constexpr double rounding_us = 0.5e-3;

/// What a flush leaves in the cache may speed up a read of the cache's size by so much.
constexpr double warm_bound = 0.005;

/// No memory moves data faster than its bus: more than this share of it is a wrong attribute.
constexpr double most_of_peak = 1.05;

Interval interval(const json& samples) {
  return timing::trimmed_interval(samples.get<std::vector<double>>(), trim, alpha);
}

/// By submission.
std::map<std::string, Interval> intervals(const json& samples) {
  std::map<std::string, Interval> result;
  for (const auto& [name, some] : samples.items()) {
    result[name] = interval(some);
  }
  return result;
}

/// The smallest step that was seen: about a tick.
double least_step_us(std::vector<double> times_us) {
  std::sort(times_us.begin(), times_us.end());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < times_us.size(); ++i) {
    if (const double step = times_us[i] - times_us[i - 1]; step > rounding_us) {
      least = std::min(least, step);
    }
  }
  return least;
}

/// The slope of times over their numbers of ticks, by least squares through zero, and its error:
/// large where times are no whole multiples of anything.
void add_tick(const std::vector<double>& times_us, Calibration& result) {
  const double about = least_step_us(times_us);
  if (!std::isfinite(about)) {
    return;
  }
  double squares = 0;
  double products = 0;
  for (const double time : times_us) {
    const double ticks = std::round(time / about);
    squares += ticks * ticks;
    products += ticks * time;
  }
  const double tick = products / squares;
  double residuals = 0;
  for (const double time : times_us) {
    const double off = time - tick * std::round(time / about);
    residuals += off * off;
  }
  const int freedom = static_cast<int>(times_us.size()) - 1;
  result.tick_ns = tick * 1e3;
  result.tick_error_ns = timing::student_t_quantile(1 - alpha / 2, freedom) *
                         std::sqrt(residuals / freedom / squares) * 1e3;
}

/// The smallest of several looks at the second clock, and how far they are apart.
void add_timer_step(const std::vector<double>& steps_ns, Calibration& result) {
  const auto [least, most] = std::minmax_element(steps_ns.begin(), steps_ns.end());
  result.globaltimer_step_ns = *least;
  result.globaltimer_step_error_ns = *most - *least;
}

/// Bandwidth from the time of so many bytes, launch cost subtracted.
Interval gbps(const Interval& time_us, double launch_us, double bytes) {
  const auto rate = [&](double us) { return bytes / (std::max(us - launch_us, 1e-3) * 1e3); };
  return {rate(time_us.estimate), rate(time_us.high), rate(time_us.low)};
}

/// A kernel against itself: groups of four samples as blocks of ABBA or BAAB.
Interval same_against_same(const std::vector<double>& times) {
  timing::BlockOrder order(2, 0);
  std::vector<double> logs;
  for (std::size_t i = 0; i + 4 <= times.size(); i += 4) {
    const bool swapped = order.next().front() == 1;
    const double ratio =
        timing::block_log_ratio(times[i], times[i + 3], times[i + 1], times[i + 2]);
    logs.push_back(swapped ? -ratio : ratio);
  }
  const auto log_ratio = timing::trimmed_interval(logs, trim, alpha);
  return {std::exp(-log_ratio.estimate), std::exp(-log_ratio.high), std::exp(-log_ratio.low)};
}

void add_curve(const json& points, double launch_us, Calibration& result) {
  for (const auto& one : points) {
    CopyPoint point;
    one.at("reads").get_to(point.reads);
    one.at("writes").get_to(point.writes);
    one.at("bytes").get_to(point.bytes);
    point.gbps = gbps(interval(one.at("us")), launch_us, static_cast<double>(point.bytes));
    auto& curve = result.copy_curve;
    // The fastest of all ways to move about as much in the same mix.
    const auto rival = std::find_if(curve.begin(), curve.end(), [&](const CopyPoint& other) {
      const double share = static_cast<double>(other.bytes) / static_cast<double>(point.bytes);
      return other.reads == point.reads && other.writes == point.writes && share > 0.7 &&
             share < 1.4;
    });
    if (rival == curve.end()) {
      curve.push_back(point);
    } else if (point.gbps.estimate > rival->gbps.estimate) {
      *rival = point;
    }
  }
}

void add_peak(const json& measured, Calibration& result) {
  const double clock_hz = measured.at("memory_clock_khz").get<double>() * 1e3;
  const double bytes = measured.at("memory_bus_bits").get<double>() / 8;
  result.peak_gbps = 2 * clock_hz * bytes * 1e-9;  // Two transfers a cycle.
  if (result.peak_gbps == 0) {
    result.notes.emplace_back(
        "the driver does not say how fast the memory's clock is, or how wide its bus: there is no "
        "peak bandwidth");
    return;
  }
  double best = 0;
  for (const auto& point : result.copy_curve) {
    // What was written may still be in the cache when a kernel ends: reads alone are bounded.
    if (point.writes == 0) best = std::max(best, point.gbps.estimate);
  }
  if (best > most_of_peak * result.peak_gbps) {
    result.notes.push_back(
        fmt::format("reads reach {:.0f} GB/s, more than the {:.0f} GB/s that the driver's figures "
                    "for the memory allow: these are wrong, and there is no peak bandwidth",
                    best, result.peak_gbps));
    result.peak_gbps = 0;
  }
}

}  // namespace

Calibration calibration_from(const json& measured, const CudaDevice& device) {
  Calibration result;
  result.device = device.name;
  result.driver_version =
      fmt::format("CUDA {}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10);
  result.measured_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  add_tick(measured.at("tick_us"), result);
  result.launch_us = intervals(measured.at("launch_us"));
  result.gap_us = intervals(measured.at("gap_us"));
  result.empty_us = intervals(measured.at("empty_us"));
  result.flush_us = interval(measured.at("flush_us"));
  measured.at("flush_bytes").get_to(result.flush_bytes);
  for (const auto& one : measured.at("flush_sizes")) {
    result.flush_sizes.push_back({one.at("bytes"), interval(one.at("read_us"))});
  }
  result.clean_copy_us = interval(measured.at("clean_copy_us"));
  result.dirty_copy_us = interval(measured.at("dirty_copy_us"));
  result.hot_copy_us = interval(measured.at("hot_copy_us"));
  add_timer_step(measured.at("globaltimer_step_ns"), result);
  add_curve(measured.at("curve"), result.launch_us.at("stream").estimate, result);
  result.aa_speedup = same_against_same(measured.at("same_us"));
  if (result.aa_speedup.low > 1 || result.aa_speedup.high < 1) {
    result.notes.push_back(
        fmt::format("a copy against itself comes out as {:.4f} ({:.4f} to {:.4f}): something "
                    "disturbs this GPU, or is not alike in both arms; ratios nearer to one than "
                    "that mean nothing",
                    result.aa_speedup.estimate, result.aa_speedup.low, result.aa_speedup.high));
  }
  add_peak(measured, result);
  // The flush reads twice the cache's size: the second of the sizes that were tried.
  const double colder =
      result.flush_sizes.back().read_us.estimate / result.flush_sizes.at(1).read_us.estimate;
  if (colder > 1 + warm_bound) {
    result.notes.push_back(
        fmt::format("behind a flush four times as long, a read of as much as the cache holds takes "
                    "{:.1f} % longer: so much of what was read before is still there",
                    100 * (colder - 1)));
  }
  if (result.globaltimer_step_ns > 200) {
    result.notes.push_back(fmt::format(
        "the device's other clock moves in steps of {:.0f} ns: clock frequencies of short samples "
        "are coarse",
        result.globaltimer_step_ns));
  }
  return result;
}

}  // namespace ouroboros::cuda
