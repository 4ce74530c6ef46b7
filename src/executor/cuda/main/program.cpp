#include "executor/cuda/main/program.hpp"

#include <fmt/format.h>

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

/// What the driver says of an image, and not of the machine.
bool is_about_the_image(int status) {
  constexpr int invalid_image = 200;
  constexpr int no_binary_for_gpu = 209;
  constexpr int invalid_ptx = 218;
  constexpr int unsupported_ptx_version = 222;
  constexpr int invalid_source = 300;
  constexpr int not_found = 500;
  constexpr int invalid_value = 1;
  for (const int one : {invalid_value, invalid_image, no_binary_for_gpu, invalid_ptx,
                        unsupported_ptx_version, invalid_source, not_found}) {
    if (status == one) {
      return true;
    }
  }
  return false;
}

}  // namespace

Modules::~Modules() {
  for (const auto& [digest, module] : loaded_) {
    device_.driver().cuModuleUnload(module);
  }
}

ModuleHandle Modules::load(const PlanImage& image) {
  if (const auto found = loaded_.find(image.sha256); found != loaded_.end()) {
    return found->second;
  }
  ModuleHandle module = nullptr;
  const auto& driver = device_.driver();
  const int status = driver.cuModuleLoadData(&module, image.bytes.data());
  if (is_about_the_image(status)) {
    throw LoadFailure("a module could not be loaded: " + driver.describe(status));
  }
  if (status == status_out_of_memory && device_.free_bytes() > plenty_bytes) {
    throw LoadFailure("a module needs more memory than there is");
  }
  driver.check(status, "cuModuleLoadData");
  return loaded_.emplace(image.sha256, module).first->second;
}

Program::Program(const Device& device, LaunchPlan plan, Modules& modules)
    : device_(device), plan_(std::move(plan)), kernels_(plan_.launches.size()) {
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    if (const auto* launch = std::get_if<KernelLaunch>(&plan_.launches[i])) {
      prepare(*launch, kernels_[i], modules);
    }
  }
}

void Program::prepare(const KernelLaunch& launch, Kernel& kernel, Modules& modules) const {
  const auto& driver = device_.driver();
  const auto module = modules.load(plan_.images.at(plan_.modules.at(launch.module).image));
  int status = driver.cuModuleGetFunction(&kernel.function, module, launch.function.c_str());
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

void Program::bind(const std::vector<Address>& buffers) {
  buffers_ = buffers;
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    if (const auto* launch = std::get_if<KernelLaunch>(&plan_.launches[i])) {
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
    std::memcpy(kernel.parameters.data() + one.at, &map, sizeof map);
  }
}

void Program::launch(std::size_t index) const {
  const auto& driver = device_.driver();
  const auto stream = device_.stream();
  std::visit(
      Overloaded{[&](const KernelLaunch& one) { start(one, kernels_[index]); },
                 [&](const MemsetLaunch& one) {
                   const auto to = at(one.target);
                   const int status =
                       one.width == 4 ? driver.cuMemsetD32Async(to, one.value, one.count, stream)
                       : one.width == 2
                           ? driver.cuMemsetD16Async(to, static_cast<unsigned short>(one.value),
                                                     one.count, stream)
                           : driver.cuMemsetD8Async(to, static_cast<unsigned char>(one.value),
                                                    one.count, stream);
                   driver.check(status, "the memset");
                 },
                 [&](const CopyLaunch& one) {
                   driver.check(
                       driver.cuMemcpyDtoDAsync(at(one.target), at(one.source), one.bytes, stream),
                       "the copy");
                 }},
      plan_.launches[index]);
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
  const auto& driver = device_.driver();
  driver.check(driver.cuLaunchKernelEx(&configuration, kernel.function, nullptr,
                                       size == 0 ? nullptr : extra),
               "the launch");
}

std::string Program::name(std::size_t index) const {
  const auto* kernel = std::get_if<KernelLaunch>(&plan_.launches[index]);
  const bool copies = std::holds_alternative<CopyLaunch>(plan_.launches[index]);
  return fmt::format("launch {} ({})", index,
                     kernel != nullptr ? kernel->function
                     : copies          ? "copy"
                                       : "memset");
}

}  // namespace ouroboros::cuda
