// Measures the tolerance rule: runs honest implementations and mutants of every shipped problem on
// the cases of the sweep and says which of them the rule refuses. docs/tolerance.md reads the
// table.
//
//   bench_tolerance [--first-seed S] [--seeds N] [--problem NAME] [--out FILE.json]

#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "kernels.hpp"

namespace {

using namespace ouroboros;
using tolerance::Narrow;
using tolerance::Sum;
using tolerance::Way;

std::vector<Way> ways_of(const std::string& problem, DType dtype) {
  std::vector<Way> ways;
  const auto honest = [&](std::string name) -> Way& {
    ways.emplace_back().name = std::move(name);
    return ways.back();
  };
  const auto mutant = [&](std::string name) -> Way& {
    ways.emplace_back().name = std::move(name);
    ways.back().honest = false;
    return ways.back();
  };
  honest("reference");
  honest("plain");
  honest("fast_math").fast = true;
  if (dtype != DType::float64) honest("float64_internals").wide = true;
  if (tolerance::has_sums(problem)) {
    honest("blocked_sums").sum = Sum::blocked;
    honest("pairwise_sums").sum = Sum::pairwise;
    auto& both = honest("blocked_sums_fast_math");
    both.sum = Sum::blocked;
    both.fast = true;
    mutant("bfloat16_accumulation").accumulator = Narrow::bfloat16;
    auto& blocked = mutant("bfloat16_accumulation_blocked");
    blocked.accumulator = Narrow::bfloat16;
    blocked.sum = Sum::blocked;
    mutant("float16_accumulation").accumulator = Narrow::float16;
  }
  if (dtype == DType::float32) {
    mutant("float16_intermediates").intermediate = Narrow::float16;
    mutant("bfloat16_intermediates").intermediate = Narrow::bfloat16;
  }
  if (dtype == DType::float64) mutant("float32_internals").intermediate = Narrow::float32;
  for (const auto& name : tolerance::mutants_of(problem)) mutant(name).mutant = name;
  for (auto& way : ways) way.half = dtype == DType::float16;
  return ways;
}

struct Row {
  std::string problem;
  std::string dtype;
  std::string way;
  bool honest = true;
  double worst = 0.0;      ///< Largest error / allowed error over all cases and seeds.
  double weakest = 1e300;  ///< The smallest, over seeds, of a seed's largest.
  int refused_seeds = 0;
  int cases = 0;
  int refused_cases = 0;
  std::string worst_family;
  std::string message;
};

std::string command_line(const char* command) {
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    char buffer[256];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

void measure(const std::string& name, DType dtype, int first_seed, int seeds,
             std::vector<Row>& rows) {
  const auto problem = problems::get(name);
  const auto ways = ways_of(name, dtype);
  const auto first = rows.size();
  for (const auto& way : ways) {
    Row row;
    row.problem = name;
    row.dtype = to_string(dtype);
    row.way = way.name;
    row.honest = way.honest;
    rows.push_back(row);
  }
  for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::vector<judge::Case> cases;
    for (auto spec : judge::derive_cases(problem, {dtype}, static_cast<std::uint64_t>(seed))) {
      cases.push_back(judge::realise(problem, spec));
    }
    for (std::size_t w = 0; w < ways.size(); ++w) {
      auto& row = rows[first + w];
      double largest = 0.0;
      bool refused = false;
      for (const auto& one : cases) {
        const auto outputs =
            ways[w].name == "reference" ? one.reference : tolerance::run(name, ways[w], one);
        const auto result = judge::compare(problem, one, outputs);
        ++row.cases;
        largest = std::max(largest, result.error_over_allowed);
        if (result.status != "passed") {
          refused = true;
          ++row.refused_cases;
        }
        if (result.error_over_allowed > row.worst) {
          row.worst = result.error_over_allowed;
          row.worst_family = one.spec.family;
          row.message = result.message;
        }
      }
      row.weakest = std::min(row.weakest, largest);
      if (refused) ++row.refused_seeds;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 3;
  int first_seed = 1;
  std::string only;
  std::string path;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--seeds") seeds = std::atoi(argv[i + 1]);
    if (flag == "--first-seed") first_seed = std::atoi(argv[i + 1]);
    if (flag == "--problem") only = argv[i + 1];
    if (flag == "--out") path = argv[i + 1];
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Row> rows;
  for (const auto& name : problems::names()) {
    if (!only.empty() && name != only) continue;
    for (const auto dtype : judge::host_dtypes(problems::get(name)))
      measure(name, dtype, first_seed, seeds, rows);
  }

  int honest_total = 0;
  int honest_refused = 0;
  int mutants_total = 0;
  int mutants_accepted = 0;
  int indistinguishable = 0;
  double honest_worst = 0.0;
  double mutant_weakest = 1e300;
  nlohmann::json table = nlohmann::json::array();
  for (const auto& row : rows) {
    std::string judgement = row.honest ? "accepted" : "refused";
    if (row.honest) {
      ++honest_total;
      honest_worst = std::max(honest_worst, row.worst);
      if (row.refused_seeds > 0) {
        ++honest_refused;
        judgement = "refused";
      }
    } else {
      ++mutants_total;
      if (row.refused_seeds < seeds) {
        // A mutant that is nowhere further from the truth than an honest implementation of the same
        // problem, a tenth for luck aside, cannot be told from it by looking at values.
        double honest_here = 0.0;
        for (const auto& other : rows) {
          if (other.honest && other.problem == row.problem && other.dtype == row.dtype) {
            honest_here = std::max(honest_here, other.worst);
          }
        }
        const bool alike = row.worst <= 1.1 * honest_here;
        judgement = alike ? "indistinguishable" : "accepted";
        ++(alike ? indistinguishable : mutants_accepted);
      } else {
        mutant_weakest = std::min(mutant_weakest, row.weakest);
      }
    }
    table.push_back({{"problem", row.problem},
                     {"dtype", row.dtype},
                     {"implementation", row.way},
                     {"honest", row.honest},
                     {"judgement", judgement},
                     {"worst_error_over_allowed", row.worst},
                     {"weakest_seed_error_over_allowed", row.weakest},
                     {"refused_cases", row.refused_cases},
                     {"cases", row.cases},
                     {"worst_family", row.worst_family}});
    const bool odd = row.honest ? row.worst > 0.6 : row.weakest < 10.0;
    if (odd) {
      std::printf("%-18s %-8s %-30s %-18s %9.3g .. %9.3g  %d/%d cases  %s %s\n",
                  row.problem.c_str(), row.dtype.c_str(), row.way.c_str(), judgement.c_str(),
                  row.weakest, row.worst, row.refused_cases, row.cases, row.worst_family.c_str(),
                  row.message.c_str());
    }
  }
  const nlohmann::json summary = {{"honest_total", honest_total},
                                  {"honest_refused", honest_refused},
                                  {"mutants_total", mutants_total},
                                  {"mutants_accepted", mutants_accepted},
                                  {"indistinguishable", indistinguishable},
                                  {"honest_worst_error_over_allowed", honest_worst},
                                  {"refused_mutants_weakest_error_over_allowed", mutant_weakest}};
  std::printf("%s\n", summary.dump(2).c_str());
  if (!path.empty()) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const nlohmann::json document = {{"summary", summary},
                                     {"provenance",
                                      {{"machine", processor()},
                                       {"processors", std::thread::hardware_concurrency()},
                                       {"kernel", command_line("uname -sr")},
                                       {"torch", TORCH_VERSION},
                                       {"compiler", __VERSION__},
                                       {"commit", command_line("git rev-parse HEAD 2>/dev/null")},
                                       {"date", today()},
                                       {"first_seed", first_seed},
                                       {"seeds", seeds},
                                       {"duration_s", seconds}}},
                                     {"rows", table}};
    std::ofstream(path) << document.dump(1) << '\n';
  }
  return honest_refused == 0 && mutants_accepted == 0 ? 0 : 1;
}
