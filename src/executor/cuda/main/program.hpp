#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "executor/cuda/main/module.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::cuda {

/// A plan whose modules are loaded: launches, and the addresses that they were last bound to.
class Program {
 public:
  /// Throws `LoadFailure`.
  Program(const Device& device, std::shared_ptr<const LaunchPlan> plan, Modules& modules);

  [[nodiscard]] const LaunchPlan& plan() const noexcept { return *plan_; }
  [[nodiscard]] std::size_t launches() const noexcept { return plan_->launches.size(); }

  /// Puts addresses where the plan has places in buffers.
  void bind(const std::vector<Address>& buffers);

  /// Makes the modules' variables what they were when they were loaded.
  void restore();

  /// Enqueues launch `index`.
  void launch(std::size_t index) const;

  /// The most that a thread of a kernel has in local memory.
  [[nodiscard]] std::size_t local_bytes() const;

  /// "launch 2 (softmax_kernel)".
  [[nodiscard]] std::string name(std::size_t index) const;

 private:
  struct Kernel {
    Module* module = nullptr;
    unsigned generation = 0;  ///< Of the module, when the function was looked up.
    FunctionHandle function = nullptr;
    std::vector<std::byte> parameters;
  };

  void prepare(const KernelLaunch& launch, Kernel& kernel) const;
  void patch(const KernelLaunch& launch, Kernel& kernel) const;
  void start(const KernelLaunch& launch, const Kernel& kernel) const;
  [[nodiscard]] Address at(const BufferOffset& place) const;

  const Device& device_;
  std::shared_ptr<const LaunchPlan> plan_;
  std::vector<Module*> modules_;  ///< Each once.
  std::vector<Kernel> kernels_;   ///< One for each launch; empty for fills and copies.
  std::vector<Address> buffers_;
};

}  // namespace ouroboros::cuda
