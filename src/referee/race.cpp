#include "referee/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "judge/base/serial.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/run.hpp"
#include "judge/values/families.hpp"
#include "referee/arena_tensors.hpp"
#include "referee/device/device.hpp"
#include "referee/distance.hpp"
#include "referee/host_race.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

// The check after every sample is there to catch skipped work, not rounding: it allows this many
// times the largest error that the oracle allows anywhere in the cell.
constexpr double gross_factor = 8.0;

// One sample in this many is checked against the oracle.
constexpr std::uint64_t in_lot = 16;

// Purposes of derived seeds.
constexpr std::uint64_t order_purpose = 1;
constexpr std::uint64_t lot_purpose = 2;
constexpr std::uint64_t kinds_purpose = 3;
constexpr std::uint64_t probe_purpose = 500;
constexpr std::uint64_t trust_purpose = 900;
constexpr std::uint64_t inputs_purpose = 1000;

}  // namespace

Race::Race(const Problem& problem, const judge::CaseSpec& cell, std::uint64_t seed,
           const Options& options, at::Device where)
    : problem_(problem),
      options_(options),
      model_(draw_case([&] {
        judge::require_threads();
        return judge::realise(problem, cell, where);
      })),
      seed_(seed),
      calls_{judge::call_for(problem, model_)} {
  for (const auto& allowed : model_.allowed) {
    // Infinite is what the reference itself loses: these are for the oracle to judge.
    const auto asked = allowed.nan_to_num(0.0, 0.0, 0.0);
    const double largest = asked.numel() == 0 ? 0.0 : asked.max().item().toDouble();
    gross_error_.push_back(gross_factor * largest);
  }
  for (const auto& buffer : calls_[0].buffers) {
    (buffer.role == BufferRole::input ? bytes_read_ : bytes_written_) +=
        static_cast<std::int64_t>(buffer.bytes());
  }
}

void Race::use(Tensors inputs, Tensors outputs) {
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    copy_bytes(model_.inputs[i], inputs_[i]);
  }
  // Later draws need the rule that the model learnt, not its tensors, which are large.
  for (auto* large : {&model_.inputs, &model_.oracle, &model_.allowed}) {
    large->clear();
  }
}

Race::~Race() = default;

std::size_t Race::enter(bool candidate) {
  candidates_.push_back(candidate);
  return candidates_.size() - 1;
}

void Race::probe() {
  // In an order of the seed's: which kind comes next no candidate knows.
  const std::array<std::string, 3> families = {"patchwork", "scattered",
                                               judge::whole_family(problem_, probe_seed())};
  probe_with(families[(derive_seed(seed_, kinds_purpose) + probes_) % families.size()]);
}

void Race::probe_constant() { probe_with("constant"); }

std::uint64_t Race::probe_seed() const { return derive_seed(seed_, probe_purpose + probes_); }

void Race::probe_with(const std::string& family) {
  auto spec = model_.spec;
  spec.seed = probe_seed();
  spec.family = family;
  ++probes_;
  const auto where = judge::place_of(inputs_);
  const auto one = draw_case([&] { return judge::realise(problem_, spec, where); });
  // Whether a difference of equal numbers is zero is for their mean to say, exactly: 0 / 0 is no
  // answer to hold anyone to.
  if (family == "constant" && !judge::is_finite(one.oracle)) return;
  for (std::size_t arm = 0; arm < arms() && !failure_; ++arm) {
    if (!is_candidate(arm)) {
      continue;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      copy_bytes(one.inputs[i], inputs_[i]);
    }
    run_alone(arm, spec.seed);
    if (!failure_) {
      check_against_oracle(one, outputs_);
    }
  }
}

bool Race::is_right(const std::function<void()>& run) {
  const auto seed = derive_seed(seed_, trust_purpose);
  const auto one = draw_case([&] { return judge::realise_again(problem_, model_, seed); });
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    copy_bytes(one.inputs[i], inputs_[i]);
  }
  run();
  if (is_near(one.reference, outputs_)) return true;
  // Eager mode itself may lose some elements to the range of its dtype.
  const auto where = judge::place_of(inputs_);
  const auto whole = draw_case([&] { return judge::realise(problem_, one.spec, where); });
  return compared(whole, outputs_).status == "passed";
}

Tensors Race::expected(const Tensors& inputs) const {
  return judge::run_reference(problem_, model_.spec, inputs);
}

std::vector<timing::Block> Race::run_blocks(std::size_t most) {
  check_cancelled(options_);
  return run_some(std::max<std::size_t>(most, 1));
}

std::vector<std::size_t> Race::next_order() {
  if (!order_) {
    order_ = std::make_unique<timing::BlockOrder>(arms(), derive_seed(seed_, order_purpose));
  }
  auto order = order_->next();
  std::erase_if(order, [this](std::size_t arm) { return is_retired(arm); });
  return order;
}

void Race::retire(std::size_t arm) { retired_.insert(arm); }

std::vector<std::uint64_t> Race::draw_inputs(std::span<const Tensors> sets) {
  std::vector<judge::CaseSpec> specs(sets.size(), model_.spec);
  std::vector<std::uint64_t> drawn;
  for (auto& spec : specs) {
    spec.seed = derive_seed(seed_, inputs_purpose + draws_++);
    drawn.push_back(spec.seed);
  }
  judge::draw_inputs(problem_, specs, sets);
  return drawn;
}

bool Race::lot() { return derive_seed(derive_seed(seed_, lot_purpose), lots_++) % in_lot == 0; }

void Race::check_outputs(std::uint64_t drawn, const Tensors& expected, const Tensors& outputs,
                         bool closely) {
  if (failure_) {
    return;
  }
  // What is far from eager mode's result, as one order of equal numbers is from another, is for the
  // oracle to judge.
  if (!closely && is_near(expected, outputs)) {
    return;
  }
  const auto again = draw_case([&] { return judge::realise_again(problem_, model_, drawn); });
  if (compared(again, outputs).status == "passed") {
    ++samples_checked_;
    return;
  }
  // The model's rule was learnt from its own elements. Where terms of this draw happen to cancel,
  // only this draw can tell how much it may be off.
  const auto where = judge::place_of(inputs_);
  check_against_oracle(draw_case([&] { return judge::realise(problem_, again.spec, where); }),
                       outputs);
}

judge::Case Race::draw_case(const std::function<judge::Case()>& draw) {
  const auto start = std::chrono::steady_clock::now();
  auto one = draw();
  oracle_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return one;
}

bool Race::is_near(const Tensors& expected, const Tensors& outputs) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!(largest_distance(outputs[i], expected[i].contiguous()) <= gross_error_[i])) {
      return false;
    }
  }
  return true;
}

CaseResult Race::compared(const judge::Case& one, const Tensors& outputs) const {
  const bool on_gpu = !judge::place_of(outputs).is_cpu();
  return judge::compare(problem_, one, outputs,
                        on_gpu ? judge::Arithmetic::gpu : judge::Arithmetic::host);
}

void Race::check_against_oracle(const judge::Case& one, const Tensors& outputs) {
  const auto result = compared(one, outputs);
  ++samples_checked_;
  if (result.status != "passed" && !timed_) {
    fail(Status::incorrect,
         {"wrong_values", "error", "time", result.message + judge::in_case(one.spec)});
  } else if (result.status != "passed") {
    fail(Status::rejected,
         {"timed_output_wrong", "cheat", "time",
          fmt::format("was right when it was checked, but not among the timed samples (family {}, "
                      "after {} of them): {}",
                      one.spec.family, samples_total_, result.message)});
  }
}

void Race::fail(Status status, Finding finding) {
  if (!failure_) {
    failure_ = Failure{status, std::move(finding)};
  }
}

std::unique_ptr<Race> make_race(const Problem& problem, const Compiled& compiled,
                                const judge::CaseSpec& cell, std::uint64_t seed,
                                const Options& options, Context context) {
  if (device::serves(compiled.candidate.language)) {
    return device::make_race(problem, compiled, cell, seed, options, context);
  }
  return std::make_unique<HostRace>(problem, compiled, cell, seed, options);
}

}  // namespace ouroboros::referee
