#include "referee/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "ouroboros/error.hpp"

namespace ouroboros::referee {
namespace {

constexpr std::size_t least_blocks = 4;  // What the statistics need, whatever the budget.

// So many blocks may be void for each that is wanted: a machine on which more are is given up.
constexpr int most_runs = 2;

// The next blocks may take so much longer than the last ones did.
constexpr double slower = 1.1;

}  // namespace

Recording::Recording(Race& race, const Options& options)
    : race_(race), options_(options), filter_(race.method().bands) {}

bool Recording::spent() const {
  const auto& plan = options_.timing;
  const int most = timing::looks_of(plan, options_.mode).back();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return static_cast<int>(blocks_.size()) >= most || affordable() == 0 ||
         (seconds > plan.budget_seconds &&
          (blocks_.size() >= least_blocks || filter_.unstable())) ||
         filter_.seen() >= most_runs * most;
}

std::size_t Recording::affordable() const {
  const auto& plan = options_.timing;
  const bool first_look = static_cast<int>(blocks_.size()) < plan.looks.front();
  if (options_.mode != timing::Mode::decide || first_look || gpu_ms_each_ == 0.0 ||
      filter_.unstable()) {
    return std::numeric_limits<std::size_t>::max();
  }
  return static_cast<std::size_t>(std::max(plan.decide_gpu_ms - race_.gpu_ms(), 0.0) /
                                  (slower * gpu_ms_each_));
}

void Recording::extend_to(std::size_t count) {
  while (blocks_.size() < count && !spent()) {
    const double gpu_ms = race_.gpu_ms();
    auto more = race_.run_blocks(std::min(count - blocks_.size(), affordable()));
    if (race_.failure()) {
      return;
    }
    gpu_ms_each_ = (race_.gpu_ms() - gpu_ms) / static_cast<double>(more.size());
    for (auto& block : more) {
      all_.push_back(block);
      if (filter_.admit(block) == timing::Void::none) {
        blocks_.push_back(std::move(block));
      }
    }
  }
  if (blocks_.size() < least_blocks && spent() && !filter_.unstable()) {
    throw Error(ErrorCode::unstable,
                "this GPU cannot be kept supplied with work, so that nothing can be measured: " +
                    filter_.why());
  }
}

bool Recording::may_be_judged() const {
  if (!filter_.unstable()) {
    return true;
  }
  if (options_.mode == timing::Mode::screen || spent()) {
    throw Error(ErrorCode::unstable,
                "the machine does not hold still, so that nothing can be measured on it (is "
                "something else running on this GPU?): " +
                    filter_.why());
  }
  return false;
}

void Recording::keep(const std::string& name) const {
  const auto& folder = options_.traces;
  if (folder.empty()) {
    return;
  }
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream file(folder / name);
  if (!(file << timing::to_json(all_) && file.flush())) {
    throw Error(ErrorCode::io, fmt::format("the trace {} cannot be written to {}: choose another "
                                           "folder, or none",
                                           name, folder.string()));
  }
}

}  // namespace ouroboros::referee
