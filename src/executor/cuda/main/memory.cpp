#include "executor/cuda/main/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cuda/main/poison.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

/// What cudaMalloc promises, and library kernels rely on for their workspaces.
constexpr std::uint64_t private_alignment = 256;

constexpr auto patience = std::chrono::seconds{60};

}  // namespace

Memory::Memory(Device& device, Exchange& arena, const std::vector<ArenaBuffer>& buffers,
               const std::vector<const LaunchPlan*>& plans, bool high)
    : device_(device), arena_(arena), plans_(plans), high_(high) {
  for (const auto& buffer : buffers) {
    auto range = std::make_unique<Range>(device, buffer.pages);
    const Address first_page = high ? range->end() - buffer.pages : range->begin();
    const Address first = first_page + (high ? buffer.high : 0);
    shared_.push_back({buffer, std::move(range), first_page, first});
  }
  std::vector<std::uint64_t> sizes;
  for (const auto* plan : plans_) {
    auto& states = states_.emplace_back();
    for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
      const auto& buffer = plan->buffers[i];
      const bool shared = buffer.role == PlanRole::input || buffer.role == PlanRole::output;
      const bool fits = i < shared_.size()
                            ? shared && buffer.bytes == buffers[i].bytes &&
                                  (buffer.role == PlanRole::output) == buffers[i].output
                            : !shared;
      if (!fits) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("buffer {} ('{}') of the plan is not the call's", i, buffer.name));
      }
      if (i < shared_.size()) {
        continue;
      }
      const std::size_t index = i - shared_.size();
      sizes.resize(std::max(sizes.size(), index + 1));
      sizes[index] = std::max(sizes[index], buffer.bytes);
      if (buffer.role == PlanRole::state) {
        const auto& image = plan->images.at(buffer.image.value());
        states.push_back({index, image.bytes, std::make_unique<Range>(device, image.bytes.size())});
        device.upload(states.back().pristine->begin(), image.bytes.data(), image.bytes.size());
        device.wait(Clock::now() + patience);
        states.back().pristine->allow(Access::read);
      }
    }
    if (plan->buffers.size() < shared_.size()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("the plan has {} buffers, the call {}",
                                                           plan->buffers.size(), shared_.size()));
    }
  }
  for (const auto bytes : sizes) {
    private_.push_back({std::make_unique<Range>(device, bytes)});
  }
}

Address Memory::private_address(std::size_t index, std::uint64_t bytes) const {
  const auto& range = *private_[index].range;
  const auto padded = (bytes + private_alignment - 1) / private_alignment * private_alignment;
  return high_ ? range.end() - padded : range.begin();
}

std::vector<Address> Memory::addresses(std::size_t plan) const {
  std::vector<Address> result;
  for (const auto& one : shared_) {
    result.push_back(one.first);
  }
  const auto& buffers = plans_[plan]->buffers;
  for (std::size_t i = shared_.size(); i < buffers.size(); ++i) {
    result.push_back(private_address(i - shared_.size(), buffers[i].bytes));
  }
  return result;
}

void Memory::upload() {
  open_inputs();
  arena_.begin();
  copy_in();
  arena_.finish();
  close_inputs();
}

void Memory::open_inputs() {
  for (auto& one : shared_) {
    if (!one.buffer.output) {  // Those are open.
      one.range->allow(Access::read_write);
    }
  }
}

void Memory::copy_in() {
  const auto& driver = device_.driver();
  canary_ = fresh_pattern();
  for (auto& one : shared_) {
    one.range->fill(one.range->begin(), one.first_page, canary_);
    one.range->fill(one.first_page + one.buffer.pages, one.range->end(), canary_);
    arena_.copy_in(one.buffer.at, one.buffer.pages, one.first_page);
  }
  for (const auto& one : private_) {
    one.range->fill(one.range->begin(), one.range->end(), canary_);
  }
  if (plans_.size() == 1) {
    poison_scratch(0, high_ ? fresh_number() : fresh_pattern());
    for (const auto& state : states_.front()) {
      driver.check(device_.copy(private_address(state.buffer, state.image.size()),
                                state.pristine->begin(), state.image.size()),
                   "restoring a state");
    }
  }
}

void Memory::close_inputs() {
  for (auto& one : shared_) {
    if (!one.buffer.output) {
      one.range->allow(Access::read);
    }
  }
}

void Memory::download() const {
  arena_.begin();
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      arena_.copy_out(one.first_page, one.buffer.pages, one.buffer.at);
    }
  }
  arena_.finish();
}

void Memory::reset(std::size_t plan) const {
  const auto pattern = fresh_poison();
  const auto& driver = device_.driver();
  poison_outputs(pattern);
  poison_scratch(plan, pattern);
  for (const auto& state : states_[plan]) {
    driver.check(device_.copy(private_address(state.buffer, state.image.size()),
                              state.pristine->begin(), state.image.size()),
                 "restoring a state");
  }
}

void Memory::poison_outputs(std::uint32_t pattern) const {
  const auto& driver = device_.driver();
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      const auto words = one.buffer.bytes / 4;
      one.range->fill(one.first, one.first + words * 4, pattern);
      if (const auto rest = one.buffer.bytes % 4; rest != 0) {
        driver.check(device_.fill(one.first + words * 4, pattern, 1, rest), "poisoning");
      }
    }
  }
}

void Memory::poison_scratch(std::size_t plan, std::uint32_t pattern) const {
  const auto& buffers = plans_[plan]->buffers;
  for (std::size_t i = shared_.size(); i < buffers.size(); ++i) {
    if (buffers[i].role == PlanRole::scratch) {
      const auto first = private_address(i - shared_.size(), buffers[i].bytes);
      private_[i - shared_.size()].range->fill(first, first + buffers[i].bytes / 4 * 4, pattern);
    }
  }
}

void Memory::touch() const {
  std::vector<const Range*> ranges;
  for (const auto& one : shared_) {
    ranges.push_back(one.range.get());
  }
  for (const auto& one : private_) {
    ranges.push_back(one.range.get());
  }
  cuda::touch(device_, ranges);
}

std::vector<Canary> Memory::canaries(std::size_t plan) const {
  std::vector<Canary> parts;
  const auto add = [&](const Range& range, Address first, Address end, const std::string& what) {
    parts.push_back({end, range.end(), canary_, "past the end of " + what});
    parts.push_back({range.begin(), first, canary_, "before the beginning of " + what});
  };
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    const auto& one = shared_[i];
    if (one.buffer.output) {
      add(*one.range, one.first_page, one.first_page + one.buffer.pages,
          fmt::format("the pages of output '{}'", plans_[plan]->buffers[i].name));
    }
  }
  // A buffer of another arm may lie where this one has none: what is whose shows with one plan.
  if (plans_.size() == 1) {
    const auto& buffers = plans_[plan]->buffers;
    for (std::size_t i = shared_.size(); i < buffers.size(); ++i) {
      const auto first = private_address(i - shared_.size(), buffers[i].bytes);
      add(*private_[i - shared_.size()].range, first, first + buffers[i].bytes,
          fmt::format("{} '{}'", buffers[i].role == PlanRole::state ? "state" : "scratch",
                      buffers[i].name));
    }
  }
  return parts;
}

void Memory::make_room_for_outputs(std::size_t copies) {
  kept_.resize(copies);
  for (auto& ranges : kept_) {
    for (const auto& one : shared_) {
      if (one.buffer.output) {
        ranges.push_back(std::make_unique<Range>(device_, one.buffer.bytes));
      }
    }
  }
}

void Memory::keep_outputs(std::size_t copy, Seals& seals) const {
  std::size_t next = 0;
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      seals.keep(one.first, kept_[copy][next++]->begin(), one.buffer.bytes);
    }
  }
}

void Memory::compare_outputs(std::size_t copy, Seals& seals) const {
  std::size_t next = 0;
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      seals.compare(one.first, kept_[copy][next++]->begin());
    }
  }
}

void Memory::reveal_outputs(std::size_t copy, Seals& seals) const {
  poison_outputs(fresh_poison());
  std::size_t next = 0;
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      seals.reveal(kept_.at(copy).at(next++)->begin(), one.first);
    }
  }
}

void Memory::copy_out() const {
  for (const auto& one : shared_) {
    if (one.buffer.output) {
      arena_.copy_out(one.first, one.buffer.bytes, one.buffer.at + (one.first - one.first_page));
    }
  }
}

}  // namespace ouroboros::cuda
