// Error rates of the statistics of timing on synthetic machines, as JSON.
//
//   bench_simulate_statistics OUTPUT.json [REPLICATIONS]
//
// docs/timing.md shows the table; benchmarks/results/cpu/statistics.json is the result it is from.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../tests/cpp/trace_simulation.hpp"

namespace {

using nlohmann::ordered_json;
using ouroboros_test::Noise;
using ouroboros_test::Tally;
namespace timing = ouroboros::timing;

constexpr std::uint64_t kSeed = 20240229;

/// A share in per cent that can stand in a key: 0.005 is "0_5".
std::string percent_key(double value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%g", 100.0 * value);
  std::string key = text.data();
  std::replace(key.begin(), key.end(), '.', '_');
  return key;
}

Noise noise_of(double spread) {
  Noise noise;
  noise.spread = spread;
  return noise;
}

ordered_json to_json(const Tally& tally) {
  const auto ratio = [&](int count) { return tally.share(count); };
  return {{"faster", ratio(tally.faster)},
          {"slower", ratio(tally.slower)},
          {"same", ratio(tally.same)},
          {"ambiguous", ratio(tally.ambiguous)},
          {"covered", ratio(tally.covered)},
          {"merged", ratio(tally.merged)},
          {"mean_blocks", tally.blocks / tally.runs},
          {"bias_log_ratio", tally.error / tally.runs},
          {"bias_log_ratio_when_faster",
           tally.faster > 0 ? ordered_json(tally.effect_error / tally.faster) : ordered_json()}};
}

/// The first line that `command` prints, or "unknown".
std::string first_line(const char* command) {
  std::string line;
  if (FILE* pipe = popen(command, "r")) {
    std::array<char, 256> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) line = buffer.data();
    pclose(pipe);
  }
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line.empty() ? "unknown" : line;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string utc_date() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

ordered_json sequential(int runs, ordered_json& summary) {
  const timing::Plan plan;
  ordered_json rows = ordered_json::array();
  for (const double spread : {0.01, 0.03, 0.06}) {
    const Noise noise = noise_of(spread);
    const std::string at = "_spread_" + percent_key(spread);
    for (const double win : {0.0, 0.005, 0.01, 0.02}) {
      for (const timing::Mode mode :
           {timing::Mode::screen, timing::Mode::decide, timing::Mode::report}) {
        const Tally tally = simulate(noise, -win, plan, mode, runs, kSeed);
        const bool decide = mode == timing::Mode::decide;
        const std::string name(timing::to_string(mode));
        ordered_json row = {{"spread", spread}, {"true_win", win}, {"mode", name}};
        row.update(to_json(tally));
        const std::string win_key = "win_" + percent_key(win) + at;
        if (win == 0.0 && decide) {
          const double naive = ouroboros_test::naive_false_decisions(noise, plan, runs, kSeed);
          row["naive_false_decisions"] = naive;
          summary["false_decisions" + at] = tally.share(tally.faster + tally.slower);
          summary["false_decisions_naive" + at] = naive;
        } else if (decide) {
          summary["blocks_" + win_key] = tally.blocks / tally.runs;
          summary["found_" + win_key] = tally.share(tally.faster);
        }
        if (mode == timing::Mode::screen) {
          summary[win == 0.0 ? "screen_false_decisions" + at : "screen_found_" + win_key] =
              tally.share(tally.faster + (win == 0.0 ? tally.slower : 0));
        }
        if (win == 0.02) {
          // Positive: the win is overstated, in percentage points.
          summary[name + "_optimism_points_" + win_key] = -100.0 * tally.error / tally.runs;
        }
        rows.push_back(row);
      }
    }
  }
  return rows;
}

ordered_json coverage(int runs, ordered_json& summary) {
  ordered_json rows = ordered_json::array();
  double least = 1.0;
  for (const double spread : {0.01, 0.03, 0.06}) {
    for (const int blocks : timing::Plan{}.looks) {
      const double covered =
          ouroboros_test::fixed_coverage(noise_of(spread), -0.02, blocks, runs, kSeed);
      least = std::min(least, covered);
      rows.push_back({{"spread", spread}, {"blocks", blocks}, {"coverage_of_95", covered}});
    }
  }
  summary["coverage_of_95_least"] = least;
  return rows;
}

ordered_json autocorrelation(int runs, ordered_json& summary) {
  ordered_json rows = ordered_json::array();
  for (const int blocks : {16, 64, 256}) {
    for (const double rho : {0.0, 0.3, 0.6}) {
      const auto covered = ouroboros_test::autocorrelated_coverage(rho, blocks, runs, kSeed);
      rows.push_back({{"blocks", blocks},
                      {"rho", rho},
                      {"coverage_of_95_unmerged", covered.plain},
                      {"coverage_of_95", covered.treated}});
      if (blocks == 256) {
        summary["coverage_rho_" + percent_key(rho) + "_unmerged"] = covered.plain;
        summary["coverage_rho_" + percent_key(rho)] = covered.treated;
      }
    }
  }
  return rows;
}

ordered_json code_copies(int runs, ordered_json& summary) {
  ordered_json rows = ordered_json::array();
  for (const int blocks : {32, 256, 1024}) {
    for (const double sd : {0.0, 0.003}) {
      const auto covered = ouroboros_test::copies_coverage(sd, blocks, runs, kSeed);
      rows.push_back({{"blocks", blocks},
                      {"copy_sd", sd},
                      {"coverage_of_95_ungrouped", covered.plain},
                      {"coverage_of_95", covered.grouped}});
      if (blocks == 1024) {
        summary["coverage_copies_" + percent_key(sd) + "_ungrouped"] = covered.plain;
        summary["coverage_copies_" + percent_key(sd)] = covered.grouped;
      }
    }
  }
  return rows;
}

ordered_json gates(int runs, ordered_json& summary) {
  ordered_json rows = ordered_json::array();
  for (const int count : {3, 5, 8, 10}) {
    for (const double between : {0.001, 0.002, 0.005, 0.01}) {
      for (const double aa : {0.0, 0.0005, 0.0015}) {
        for (const double win : {0.0, 0.01, 0.02}) {
          const ouroboros_test::Processes processes{count, between, 0.0015, aa};
          const auto rates = ouroboros_test::gate_pass_rates(processes, -win, runs, kSeed);
          rows.push_back({{"processes", count},
                          {"between_process_sd", between},
                          {"aa_sd", aa},
                          {"true_win", win},
                          {"passed", rates.passed},
                          {"passed_without_spread_clause", rates.passed_without_spread_clause}});
          if (count == 5 && aa == 0.0) {
            const std::string key = "win_" + percent_key(win) + "_between_" + percent_key(between);
            summary["gate_passed_" + key] = rates.passed;
          }
        }
      }
    }
  }
  return rows;
}

/// How often guards fire on synthetic traces: on honest noise, and where one effect is in.
ordered_json guards(int runs, ordered_json& summary) {
  using ouroboros_test::TraceTruth;
  struct Effect {
    std::string_view name;
    TraceTruth truth;
  };
  const auto effect = [](std::string_view name, auto&& change) {
    Effect result{name, {}};
    change(result.truth);
    return result;
  };
  const std::vector<Effect> effects = {
      effect("none", [](TraceTruth&) {}),
      effect("memory_3", [](TraceTruth& t) { t.memory = {-0.03}; }),
      effect("memory_3_of_both", [](TraceTruth& t) { t.memory = {-0.03, -0.03}; }),
      effect("kappa_4", [](TraceTruth& t) { t.kappa = {0.04}; }),
      effect("kappa_4_of_both", [](TraceTruth& t) { t.kappa = {0.04, 0.04}; }),
      effect("clock_0_6", [](TraceTruth& t) { t.clock = {-0.006}; }),
      effect("placement_1", [](TraceTruth& t) { t.placement = 0.01; }),
      effect("win_1", [](TraceTruth& t) { t.log_time = {-0.01}; }),
  };
  ordered_json rows = ordered_json::array();
  double worst = 0.0;
  for (const Effect& of : effects) {
    for (const std::size_t arms : {std::size_t{2}, std::size_t{4}}) {
      for (const int blocks : {16, 32, 64}) {
        for (const double spread : {0.003, 0.01, 0.03}) {
          TraceTruth truth = of.truth;
          truth.arms = arms;
          truth.noise.spread = spread;
          const auto rates = ouroboros_test::guard_rates(truth, blocks, runs, kSeed);
          rows.push_back({{"effect", of.name},
                          {"arms", arms},
                          {"blocks", blocks},
                          {"spread", spread},
                          {"unstable", rates.unstable},
                          {"memory", rates.memory},
                          {"memory_paired_alone", rates.memory_paired},
                          {"carry_over", rates.carry_over},
                          {"clock_confounded", rates.cycles},
                          {"placement", rates.placement},
                          {"multimodal", rates.multimodal},
                          {"contradicted", rates.contradicted},
                          {"coverage_of_99_carry_over", rates.carry_over_held},
                          {"coverage_of_99_memory", rates.apart_held},
                          {"coverage_of_95_placement", rates.placement_held},
                          {"median_placement_sd", rates.placement_sd}});
          if (of.name == "none") {
            worst = std::max({worst, rates.unstable, rates.memory, rates.carry_over, rates.cycles,
                              rates.placement, rates.multimodal, rates.contradicted});
          }
        }
      }
    }
  }
  summary["guard_fires_on_honest_noise_most"] = worst;
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 2 ? std::atoi(argv[2]) : 20000;
  if (argc < 2 || argc > 3 || runs < 1) {
    std::cerr << "usage: bench_simulate_statistics OUTPUT.json [REPLICATIONS]\n";
    return 2;
  }
  ordered_json summary = {{"replications", runs}};
  ordered_json data;
  data["sequential"] = sequential(runs, summary);
  data["coverage"] = coverage(runs, summary);
  data["autocorrelation"] = autocorrelation(runs, summary);
  data["code_copies"] = code_copies(runs, summary);
  data["gate"] = gates(runs, summary);
  constexpr int share_for_guards = 10;
  data["guards"] = guards(std::max(1, runs / share_for_guards), summary);
  const Noise noise;
  const ordered_json result = {{"benchmark", "statistics"},
                               {"summary", summary},
                               {"provenance",
                                {{"date", utc_date()},
                                 {"commit", first_line("git rev-parse --verify --quiet HEAD")},
                                 {"processor", processor()},
                                 {"compiler", __VERSION__},
                                 {"seed", kSeed},
                                 {"noise",
                                  {{"outlier_share", noise.outlier_share},
                                   {"largest_outlier", noise.largest_outlier},
                                   {"drift_per_sample", noise.drift_per_sample},
                                   {"outer_slots", noise.outer_slots}}}}},
                               {"data", data}};
  std::ofstream file(argv[1]);
  file << result.dump(2) << '\n';
  if (!file.flush()) {
    std::cerr << "cannot write " << argv[1] << '\n';
    return 1;
  }
  return 0;
}
