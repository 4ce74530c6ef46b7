#include "referee/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "referee/arena_tensors.hpp"
#include "referee/distance.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr int warm_up_rounds = 3;
constexpr int handover_samples = 64;

// The check after every sample is there to catch skipped work, not rounding: it allows this many
// times the largest error that the oracle allows anywhere in the cell.
constexpr double gross_factor = 8.0;

// One block in this many has a sample that is checked against the oracle.
constexpr std::uint64_t lot = 8;

// Purposes of derived seeds.
constexpr std::uint64_t order_purpose = 1;
constexpr std::uint64_t lot_purpose = 2;
constexpr std::uint64_t probe_purpose = 500;
constexpr std::uint64_t inputs_purpose = 1000;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

Race::Race(const Problem& problem, const Compiled& compiled, const judge::CaseSpec& cell,
           std::uint64_t seed, const Options& options)
    : problem_(problem),
      compiled_(compiled),
      options_(options),
      model_(draw_case([&] { return judge::realise(problem, cell); })),
      seed_(seed),
      calls_{judge::call_for(problem, model_)},
      arena_(std::make_shared<const Arena>(calls_)) {
  auto tensors = arena_tensors(*arena_, 0, Placement::low);
  inputs_ = std::move(tensors.inputs);
  outputs_ = std::move(tensors.outputs);
  arena_->poison(0, Placement::low, seed_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    copy_bytes(model_.inputs[i], inputs_[i]);
  }
  for (std::size_t i = 0; i < model_.allowed.size(); ++i) {
    const auto& allowed = model_.allowed[i];
    const auto* limits = allowed.const_data_ptr<double>();
    const double largest =
        allowed.numel() == 0 ? 0.0 : *std::max_element(limits, limits + allowed.numel());
    gross_error_.push_back(gross_factor * largest);
  }
  for (const auto& buffer : calls_[0].buffers) {
    bytes_min_ += static_cast<std::int64_t>(buffer.bytes());
  }
  // Later draws need the rule that the model learnt, not its tensors, which are large.
  for (auto* large : {&model_.inputs, &model_.oracle, &model_.allowed}) {
    large->clear();
  }
  baselines_ = std::make_unique<Baselines>(problem, inputs_, outputs_);
}

std::size_t Race::add_candidate() {
  auto session = make_host_executor(options_.limits, options_.cancelled)
                     ->open({compiled_.image, calls_}, arena_);
  if (session->opening().outcome != Outcome::returned) {
    const auto [status, finding] = misconduct(session->opening(), "time");
    fail(status, finding);
  }
  arms_.push_back({std::move(session), 0, clones(outputs_)});
  return arms_.size() - 1;
}

std::size_t Race::add_baseline(std::size_t index) {
  arms_.push_back({nullptr, index, clones(outputs_)});
  return arms_.size() - 1;
}

void Race::warm_up() {
  lease_.emplace();
  baselines_->pin(lease_->cpu());
  for (const auto& arm : arms_) {
    if (arm.session) {
      arm.session->pin(lease_->cpu());
    }
  }
  order_ = std::make_unique<timing::BlockOrder>(arms_.size(), derive_seed(seed_, order_purpose));
  std::vector<std::size_t> everyone(arms_.size());
  for (std::size_t i = 0; i < everyone.size(); ++i) {
    everyone[i] = i;
  }
  for (int round = 0; round < warm_up_rounds && !failure_; ++round) {
    run_half(everyone, round == 0, [](std::size_t, double) {});
  }
}

void Race::probe() {
  auto spec = model_.spec;
  spec.seed = derive_seed(seed_, probe_purpose + probes_++);
  spec.family = "patchwork";
  const auto one = draw_case([&] { return judge::realise(problem_, spec); });
  for (const auto& arm : arms_) {
    if (!arm.session || failure_) {
      continue;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      copy_bytes(one.inputs[i], inputs_[i]);
    }
    arena_->poison_outputs(0, Placement::low, spec.seed);
    const auto replay = arm.session->replay(0, Placement::low);
    if (replay.outcome != Outcome::returned) {
      const auto [status, finding] = misconduct(replay, "time");
      return fail(status, finding);
    }
    check_against_oracle(one, outputs_);
  }
}

Race::Block Race::run_block() {
  check_cancelled(options_);
  Block block(arms_.size());
  auto order = order_->next();
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(arms_.size());
  // A candidate cannot know which of its results will be looked at closely.
  const bool drawn = derive_seed(seed_, lot_purpose + draws_) % lot == 0;
  run_half({order.begin(), middle}, drawn,
           [&block](std::size_t arm, double time) { block[arm].first = time; });
  if (!failure_) {
    run_half({middle, order.end()}, false,
             [&block](std::size_t arm, double time) { block[arm].second = time; });
  }
  return block;
}

void Race::run_half(const std::vector<std::size_t>& order, bool check_fully,
                    const std::function<void(std::size_t, double)>& sampled) {
  auto spec = model_.spec;
  spec.seed = derive_seed(seed_, inputs_purpose + draws_++);
  judge::draw_inputs(problem_, spec, inputs_);
  bool eager_ran = false;
  for (const std::size_t number : order) {
    auto& arm = arms_[number];
    arena_->poison_outputs(0, Placement::low, derive_seed(spec.seed, number));
    if (!arm.session) {
      sampled(number, microseconds(baselines_->run(arm.baseline).elapsed));
      eager_ran = eager_ran || arm.baseline == 0;
    } else {
      const auto replay = arm.session->replay(0, Placement::low);
      if (replay.outcome != Outcome::returned) {
        const auto [status, finding] = misconduct(replay, "time");
        return fail(status, finding);
      }
      sampled(number, microseconds(replay.elapsed));
      ++samples_total_;
    }
    // Kept for every arm, though only candidates' are looked at: the next one meets the same
    // caches.
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      copy_bytes(outputs_[i], arm.result[i]);
    }
  }
  if (!eager_ran) {
    baselines_->run(0);
  }
  for (const auto& arm : arms_) {
    if (!arm.session) {
      continue;
    }
    check_against_eager(arm.result);
    if (check_fully && !failure_) {
      const auto one = draw_case([&] { return judge::realise_again(problem_, model_, spec.seed); });
      check_against_oracle(one, arm.result);
    }
  }
}

judge::Case Race::draw_case(const std::function<judge::Case()>& draw) {
  const auto start = std::chrono::steady_clock::now();
  auto one = draw();
  oracle_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return one;
}

void Race::check_against_eager(const Tensors& outputs) {
  const auto& eager = baselines_->eager_outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double distance = largest_distance(outputs[i], eager[i].contiguous());
    if (!(distance <= gross_error_[i])) {
      return fail(Status::rejected,
                  {"timed_output_wrong", "cheat", "time",
                   fmt::format("was right when it was checked, but its output '{}' of timed sample "
                               "{} is off by {:.3g}, where the largest error allowed is {:.3g}",
                               problem_.outputs[i], samples_total_, distance,
                               gross_error_[i] / gross_factor)});
    }
  }
}

void Race::check_against_oracle(const judge::Case& one, const Tensors& outputs) {
  const auto result = judge::compare(problem_, one, outputs);
  ++samples_checked_;
  if (result.status != "passed") {
    fail(Status::rejected,
         {"timed_output_wrong", "cheat", "time",
          fmt::format("was right when it was checked, but not among the timed samples (family {}, "
                      "after {} of them): {}",
                      one.spec.family, samples_total_, result.message)});
  }
}

double Race::handover_us() {
  std::vector<double> times;
  for (int i = 0; i < handover_samples; ++i) {
    times.push_back(microseconds(baselines_->nothing().elapsed));
  }
  return timing::trimmed_mean(times, options_.timing.trim).mean;
}

void Race::fail(Status status, Finding finding) {
  if (!failure_) {
    failure_ = Failure{status, std::move(finding)};
  }
}

}  // namespace ouroboros::referee
