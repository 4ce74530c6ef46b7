#include "executor/cuda/main/module.hpp"

#include <algorithm>
#include <array>

#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{30};

/// More is loaded anew rather than kept twice in the device's memory.
constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;

/// What the driver says of an image, and not of the machine.
bool is_about_the_image(int status) {
  constexpr int invalid_image = 200;
  constexpr int no_binary_for_gpu = 209;
  constexpr int invalid_ptx = 218;
  constexpr int unsupported_ptx_version = 222;
  constexpr int invalid_source = 300;
  constexpr int not_found = 500;
  constexpr std::array statuses{
      status_invalid_value,    invalid_image,  no_binary_for_gpu, invalid_ptx,
      unsupported_ptx_version, invalid_source, not_found};
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

/// Empty for an image that cannot be read, which may have any memory.
std::optional<ModuleMemory> memory_of(const PlanImage& image) {
  try {
    return module_memory(image.bytes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Module::Module(Device& device, const PlanImage& image, ModuleOrigin origin) : device_(device) {
  image_ = image.bytes;
  load();
  try {
    const auto memory = memory_of(image);
    if (!memory || !keep(*memory)) {
      sections_.clear();
      reload_ = origin == ModuleOrigin::candidate;
    }
    if (!reload_) {
      image_ = {};
    }
  } catch (...) {
    device_.driver().cuModuleUnload(handle_);
    throw;
  }
}

Module::~Module() {
  if (handle_ != nullptr) {
    device_.driver().cuModuleUnload(handle_);
  }
}

void Module::load() {
  const auto& driver = device_.driver();
  const int status = driver.cuModuleLoadData(&handle_, image_.data());
  if (is_about_the_image(status)) {
    throw LoadFailure("a module could not be loaded: " + driver.describe(status));
  }
  if (status == status_out_of_memory && device_.free_bytes() > plenty_bytes) {
    throw LoadFailure("a module needs more memory than there is");
  }
  driver.check(status, "cuModuleLoadData");
  ++generation_;
}

/// Where a section lies, if all variables of it that the driver knows say the same.
std::optional<Address> Module::find(const GlobalSection& section) const {
  std::optional<Address> first;
  for (const auto& symbol : section.symbols) {
    Address address = 0;
    std::size_t bytes = 0;
    const auto& driver = device_.driver();
    if (driver.cuModuleGetGlobal(&address, &bytes, handle_, symbol.name.c_str()) !=
        status_success) {
      continue;
    }
    const bool inside = symbol.offset <= section.bytes && bytes <= section.bytes - symbol.offset;
    if (!inside || (first && *first != address - symbol.offset)) {
      return std::nullopt;
    }
    first = address - symbol.offset;
  }
  return first;
}

/// Copies what the sections hold now. False where not all of them are found, or where the driver
/// does not copy one as a whole: an H100's has refused three small variables.
bool Module::keep(const ModuleMemory& memory) {
  std::uint64_t bytes = 0;
  for (const auto& section : memory.globals) {
    const auto first = find(section);
    if (!first || section.bytes > most_kept_bytes - bytes) {
      return false;
    }
    sections_.push_back({*first, section.bytes, bytes});
    bytes += section.bytes;
  }
  if (sections_.empty()) {
    return true;
  }
  kept_ = std::make_unique<Range>(device_, bytes);
  const auto& driver = device_.driver();
  for (auto& section : sections_) {
    section.kept += kept_->begin();
    const int status = device_.copy(section.kept, section.first, section.bytes);
    if (status == status_invalid_value) {
      device_.wait(Clock::now() + patience);  // For copies into what is given back.
      kept_.reset();
      return false;
    }
    driver.check(status, "keeping a module's variables");
  }
  device_.wait(Clock::now() + patience);
  kept_->allow(Access::read);
  return true;
}

void Module::restore() {
  const auto& driver = device_.driver();
  for (const auto& section : sections_) {
    driver.check(device_.copy(section.first, section.kept, section.bytes),
                 "restoring a module's variables");
  }
  if (reload_) {
    device_.wait(Clock::now() + patience);
    driver.check(driver.cuModuleUnload(handle_), "cuModuleUnload");
    handle_ = nullptr;
    load();
  }
}

Module& Modules::load(const PlanImage& image, ModuleOrigin origin) {
  auto& module = loaded_[{image.sha256, origin}];
  if (!module) {
    module = std::make_unique<Module>(device_, image, origin);
  }
  return *module;
}

}  // namespace ouroboros::cuda
