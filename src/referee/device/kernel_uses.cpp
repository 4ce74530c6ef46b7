#include "referee/device/kernel_uses.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace ouroboros::referee::device {
namespace {

std::vector<std::int64_t> numbers(const Dim3& dims) { return {dims[0], dims[1], dims[2]}; }

}  // namespace

std::vector<KernelUse> kernels_of(const LaunchPlan& plan) {
  std::vector<KernelUse> uses;
  for (const auto& launch : plan.launches) {
    const auto* kernel = std::get_if<KernelLaunch>(&launch);
    if (kernel == nullptr) {
      continue;
    }
    const auto known = std::find_if(uses.begin(), uses.end(), [&](const KernelUse& use) {
      return use.function == kernel->function;
    });
    if (known != uses.end()) {
      ++known->launches;
      continue;
    }
    KernelUse use;
    use.function = kernel->function;
    use.launches = 1;
    const auto& module = plan.modules.at(kernel->module);
    use.origin = module.origin == ModuleOrigin::candidate ? "candidate" : "library";
    for (const auto& found : kernel_resources(plan.images.at(module.image).bytes)) {
      if (found.function == kernel->function) {
        use.registers = found.registers;
        use.stack_bytes = static_cast<std::int64_t>(found.stack_bytes);
        use.shared_bytes = static_cast<std::int64_t>(found.shared_bytes);
      }
    }
    use.shared_dynamic_bytes = kernel->shared_bytes;
    use.grid = numbers(kernel->grid);
    use.block = numbers(kernel->block);
    use.cluster = numbers(kernel->cluster);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace ouroboros::referee::device
