#include "executor/cuda/main/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ouroboros::cuda {
namespace {

constexpr std::uint32_t default_shared_bytes = 48 << 10;
constexpr std::uint32_t portable_cluster = 8;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// Drivers up to CUDA 13.1 set a bit in the maps of small tensors that the hardware must not see:
/// CUTLASS and Triton (third_party/nvidia/backend/driver.c) clear it, and so do we.
void correct(TensorMap& map, const ParameterTensorMap& plan, int driver_version) {
  constexpr int last_with_the_bit = 13010;
  constexpr std::uint64_t small_bytes = 128 << 10;
  constexpr std::uint64_t bit = std::uint64_t{1} << 21;
  if (driver_version > last_with_the_bit) {
    return;
  }
  // From the first element's first byte to the last one's: the innermost stride is an element.
  constexpr std::uint64_t element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 1, 1};
  double last = static_cast<double>((plan.sizes[0] - 1) * element_bytes[plan.data_type]);
  for (std::size_t i = 1; i < plan.sizes.size(); ++i) {
    last += static_cast<double>(plan.sizes[i] - 1) * static_cast<double>(plan.strides_bytes[i - 1]);
  }
  if (last + 1 < static_cast<double>(small_bytes)) {
    map.opaque[1] &= ~bit;
  }
}

}  // namespace

Program::Program(const Device& device, std::shared_ptr<const LaunchPlan> plan, Modules& modules)
    : device_(device), plan_(std::move(plan)), kernels_(plan_->launches.size()) {
  for (std::size_t i = 0; i < plan_->launches.size(); ++i) {
    if (const auto* launch = std::get_if<KernelLaunch>(&plan_->launches[i])) {
      const auto& [origin, image] = plan_->modules.at(launch->module);
      auto& module = modules.load(plan_->images.at(image), origin);
      if (std::find(modules_.begin(), modules_.end(), &module) == modules_.end()) {
        modules_.push_back(&module);
      }
      kernels_[i].module = &module;
      prepare(*launch, kernels_[i]);
    }
  }
}

void Program::prepare(const KernelLaunch& launch, Kernel& kernel) const {
  const auto& driver = device_.driver();
  kernel.generation = kernel.module->generation();
  int status = driver.cuModuleGetFunction(&kernel.function, kernel.module->handle(),
                                          launch.function.c_str());
  if (status != status_success) {
    throw LoadFailure(fmt::format("module {} has no kernel '{}': {}", launch.module,
                                  launch.function, driver.describe(status)));
  }
  if (launch.shared_bytes > default_shared_bytes) {
    status = driver.cuFuncSetAttribute(kernel.function, function_dynamic_shared,
                                       static_cast<int>(launch.shared_bytes));
  }
  const auto blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (status == status_success && blocks > portable_cluster) {
    status = driver.cuFuncSetAttribute(kernel.function, function_wide_clusters, 1);
  }
  if (status != status_success) {
    throw LoadFailure(
        fmt::format("kernel '{}' cannot have {} bytes of shared memory and clusters "
                    "of {} blocks: {}",
                    launch.function, launch.shared_bytes, blocks, driver.describe(status)));
  }
}

std::size_t Program::local_bytes() const {
  int most = 0;
  for (const auto& kernel : kernels_) {
    if (kernel.function != nullptr) {
      int bytes = 0;
      const auto& driver = device_.driver();
      driver.check(driver.cuFuncGetAttribute(&bytes, function_local_bytes, kernel.function),
                   "cuFuncGetAttribute");
      most = std::max(most, bytes);
    }
  }
  return static_cast<std::size_t>(most);
}

void Program::restore() {
  for (auto* module : modules_) {
    module->restore();
  }
  // Another program may have had the module loaded anew as well.
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    auto& kernel = kernels_[i];
    if (kernel.module != nullptr && kernel.generation != kernel.module->generation()) {
      prepare(std::get<KernelLaunch>(plan_->launches[i]), kernel);
    }
  }
}

void Program::bind(const std::vector<Address>& buffers) {
  buffers_ = buffers;
  for (std::size_t i = 0; i < plan_->launches.size(); ++i) {
    if (const auto* launch = std::get_if<KernelLaunch>(&plan_->launches[i])) {
      patch(*launch, kernels_[i]);
    }
  }
}

Address Program::at(const BufferOffset& place) const {
  return buffers_.at(place.buffer) + place.offset;
}

void Program::patch(const KernelLaunch& launch, Kernel& kernel) const {
  kernel.parameters = launch.parameters;
  for (const auto& pointer : launch.pointers) {
    const Address address = at(pointer.target);
    std::memcpy(kernel.parameters.data() + pointer.at, &address, sizeof address);
  }
  for (const auto& one : launch.tensor_maps) {
    TensorMap map;
    const auto& driver = device_.driver();
    auto strides = one.strides_bytes;
    strides.resize(one.sizes.size());  // The driver refuses a null list, also where it reads none.
    const int status = driver.cuTensorMapEncodeTiled(
        &map, static_cast<int>(one.data_type), static_cast<std::uint32_t>(one.sizes.size()),
        reinterpret_cast<void*>(at(one.target)), one.sizes.data(), strides.data(), one.box.data(),
        one.element_strides.data(), static_cast<int>(one.interleave), static_cast<int>(one.swizzle),
        static_cast<int>(one.l2_promotion), static_cast<int>(one.oob_fill));
    if (status != status_success) {
      throw LoadFailure(fmt::format("a tensor map of kernel '{}' cannot be encoded: {}",
                                    launch.function, driver.describe(status)));
    }
    correct(map, one, driver.version);
    std::memcpy(kernel.parameters.data() + one.at, &map, sizeof map);
  }
}

void Program::launch(std::size_t index) const {
  const auto& driver = device_.driver();
  std::visit(Overloaded{[&](const KernelLaunch& one) { start(one, kernels_[index]); },
                        [&](const MemsetLaunch& one) {
                          driver.check(
                              device_.fill(at(one.target), one.value, one.width, one.count),
                              "the memset");
                        },
                        [&](const CopyLaunch& one) {
                          driver.check(device_.copy(at(one.target), at(one.source), one.bytes),
                                       "the copy");
                        }},
             plan_->launches[index]);
}

void Program::start(const KernelLaunch& launch, const Kernel& kernel) const {
  LaunchAttribute attributes[2];
  LaunchConfiguration configuration;
  configuration.stream = device_.stream();
  configuration.attributes = attributes;
  configuration.shared_bytes = launch.shared_bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    configuration.grid[i] = launch.grid[i];
    configuration.block[i] = launch.block[i];
  }
  if (launch.cluster != Dim3{1, 1, 1}) {
    auto& cluster = attributes[configuration.attribute_count++];
    cluster.id = LaunchAttribute::cluster_dimension;
    std::copy(launch.cluster.begin(), launch.cluster.end(), cluster.value);
  }
  if (launch.cooperative) {
    auto& cooperative = attributes[configuration.attribute_count++];
    cooperative.id = LaunchAttribute::cooperative;
    cooperative.value[0] = 1;
  }
  std::size_t size = kernel.parameters.size();
  void* extra[] = {reinterpret_cast<void*>(extra_buffer),
                   const_cast<std::byte*>(kernel.parameters.data()),
                   reinterpret_cast<void*>(extra_size), &size, reinterpret_cast<void*>(extra_end)};
  device_.launch(configuration, kernel.function, nullptr, size == 0 ? nullptr : extra,
                 "the launch");
}

std::string Program::name(std::size_t index) const {
  const auto* kernel = std::get_if<KernelLaunch>(&plan_->launches[index]);
  const bool copies = std::holds_alternative<CopyLaunch>(plan_->launches[index]);
  return fmt::format("launch {} ({})", index,
                     kernel != nullptr ? kernel->function
                     : copies          ? "copy"
                                       : "memset");
}

}  // namespace ouroboros::cuda
