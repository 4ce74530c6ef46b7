#include "trace/live/watch.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <unordered_map>

#include "trace/live/cubin_names.hpp"

namespace ouroboros::live {
namespace {

// CUPTI's ABI, as far as it is needed.
constexpr int driver_domain = 1;
constexpr int resource_domain = 3;
constexpr std::uint32_t module_loaded = 6;
constexpr std::uint32_t module_load = 18, module_load_data = 19, module_load_data_ex = 20,
                        module_load_fat_binary = 21, library_load_data = 678,
                        library_load_file = 679, encode_tiled = 697;
constexpr std::uint32_t watched[] = {
    module_load,       module_load_data,  module_load_data_ex, module_load_fat_binary,
    library_load_data, library_load_file, encode_tiled};

struct ApiCall {  // CUpti_CallbackData
  int site;       // 0: enter, 1: exit
  const char* function;
  const void* arguments;
  void* result;
  const char* symbol;
  Handle context;
  std::uint32_t context_id;
  std::uint64_t* correlation;
  std::uint32_t correlation_id;
};

struct Resource {  // CUpti_ResourceData
  Handle context;
  Handle resource;
  void* description;
};

struct ModuleResource {  // CUpti_ModuleResourceData
  std::uint32_t id;
  std::size_t bytes;
  const char* cubin;
};

struct LoadArguments {  // What all the loading calls begin with.
  Handle* handle;
  const void* source;  // A path or an image.
};

struct EncodeArguments {  // cuTensorMapEncodeTiled_params
  const char* descriptor;
  std::uint32_t data_type;
  std::uint32_t rank;
  Address address;
  const std::uint64_t* sizes;
  const std::uint64_t* strides;
  const std::uint32_t* box;
  const std::uint32_t* element_strides;
  std::uint32_t interleave, swizzle, l2_promotion, oob_fill;
};

constexpr std::size_t descriptor_bytes = 128;
constexpr std::size_t most_maps = 4096;

struct Loaded {  // What one handle stands for.
  std::vector<std::uint32_t> images;
  std::string source;
};

std::mutex mutex;
std::deque<LoadedImage> images;  // Addresses stay valid as it grows.
std::unordered_map<std::size_t, std::vector<std::uint32_t>> by_hash;
std::unordered_map<std::string, std::vector<std::uint32_t>> by_kernel;
std::unordered_map<Handle, Loaded> by_handle;
std::deque<EncodedMap> maps;

// Images that were loaded inside the calls that this thread is in, innermost last.
thread_local std::vector<std::vector<std::uint32_t>> open_calls;

// A library's machine code lies in its mapped file; a compiler's lies on the heap.
std::string file_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) return info.dli_fname;
  return {};
}

std::uint32_t remember(const char* cubin, std::size_t bytes) {
  const std::size_t hash = std::hash<std::string_view>{}({cubin, bytes});
  for (const std::uint32_t index : by_hash[hash]) {
    if (images[index].bytes == std::string_view(cubin, bytes)) return index;
  }
  images.push_back({.bytes = std::string(cubin, bytes), .source = {}});
  const auto index = static_cast<std::uint32_t>(images.size() - 1);
  by_hash[hash].push_back(index);
  for (std::string& name : kernel_names(images[index].bytes)) by_kernel[name].push_back(index);
  return index;
}

void on_load(std::uint32_t id, const ApiCall& call) {
  if (call.site == 0) {
    open_calls.emplace_back();
    return;
  }
  if (open_calls.empty()) return;  // It began before the watch did.
  std::vector<std::uint32_t> loaded = std::move(open_calls.back());
  open_calls.pop_back();
  const auto& arguments = *static_cast<const LoadArguments*>(call.arguments);
  if (*static_cast<const Result*>(call.result) != 0 || arguments.handle == nullptr) return;
  const bool is_path = id == module_load || id == library_load_file;
  std::string source =
      is_path ? std::string(static_cast<const char*>(arguments.source)) : file_of(arguments.source);
  const std::lock_guard lock(mutex);
  for (const std::uint32_t index : loaded) images[index].source = source;
  by_handle[*arguments.handle] = {.images = std::move(loaded), .source = std::move(source)};
}

void on_encode(const ApiCall& call) {
  if (call.site == 0 || *static_cast<const Result*>(call.result) != 0) return;
  const auto& arguments = *static_cast<const EncodeArguments*>(call.arguments);
  const std::uint32_t rank = arguments.rank;
  EncodedMap map{.bytes = std::string(arguments.descriptor, descriptor_bytes),
                 .address = arguments.address,
                 .data_type = arguments.data_type,
                 .sizes = {arguments.sizes, arguments.sizes + rank},
                 .strides_bytes = {arguments.strides, arguments.strides + (rank - 1)},
                 .box = {arguments.box, arguments.box + rank},
                 .element_strides = {arguments.element_strides, arguments.element_strides + rank},
                 .interleave = arguments.interleave,
                 .swizzle = arguments.swizzle,
                 .l2_promotion = arguments.l2_promotion,
                 .oob_fill = arguments.oob_fill};
  const std::lock_guard lock(mutex);
  maps.push_back(std::move(map));
  if (maps.size() > most_maps) maps.pop_front();
}

// Called by the driver: nothing may be thrown through it, and memory that runs out ends the
// process.
void callback(void*, int domain, std::uint32_t id, const void* data) noexcept {
  if (domain == resource_domain && id == module_loaded) {
    const auto& module =
        *static_cast<const ModuleResource*>(static_cast<const Resource*>(data)->description);
    if (module.cubin == nullptr || module.bytes == 0) return;
    const std::lock_guard lock(mutex);
    const std::uint32_t index = remember(module.cubin, module.bytes);
    if (!open_calls.empty()) open_calls.back().push_back(index);
  } else if (domain == driver_domain) {
    const auto& call = *static_cast<const ApiCall*>(data);
    if (id == encode_tiled) {
      on_encode(call);
    } else {
      on_load(id, call);
    }
  }
}

void* open_cupti(const char* path) {
  // A copy that is loaded already goes first: PyTorch's, as a rule. Two would not work together.
  constexpr const char* names[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  }
  if (path != nullptr) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

void watch(const char* cupti) {
  static bool watching = false;
  if (watching) return;
  void* library = open_cupti(cupti);
  if (library == nullptr) {
    throw std::runtime_error(
        "There is no libcupti on this machine; install the Python package nvidia-cuda-cupti or "
        "NVIDIA's toolkit.");
  }
  using Callback = void (*)(void*, int, std::uint32_t, const void*);
  const auto subscribe =
      reinterpret_cast<int (*)(Handle*, Callback, void*)>(dlsym(library, "cuptiSubscribe"));
  const auto enable = reinterpret_cast<int (*)(std::uint32_t, Handle, int, std::uint32_t)>(
      dlsym(library, "cuptiEnableCallback"));
  if (subscribe == nullptr || enable == nullptr) {
    throw std::runtime_error("This libcupti has no callbacks; use the one of CUDA 12.4 or newer.");
  }
  Handle subscriber = nullptr;
  if (const int result = subscribe(&subscriber, callback, nullptr)) {
    throw std::runtime_error("CUPTI does not accept a subscriber (error " + std::to_string(result) +
                             "); no profiler may watch the same process.");
  }
  int result = enable(1, subscriber, resource_domain, module_loaded);
  for (const std::uint32_t id : watched) {
    if (result == 0) result = enable(1, subscriber, driver_domain, id);
  }
  if (result != 0) {
    throw std::runtime_error("CUPTI does not report modules (error " + std::to_string(result) +
                             ").");
  }
  watching = true;
}

FoundImage find_image(Handle module, Handle library, std::string_view name) {
  const std::lock_guard lock(mutex);
  const auto named = by_kernel.find(std::string(name));
  const std::vector<std::uint32_t> holders =
      named != by_kernel.end() ? named->second : std::vector<std::uint32_t>();
  FoundImage found;
  for (const Handle handle : {module, library}) {
    const auto entry = by_handle.find(handle);
    if (handle == nullptr || entry == by_handle.end()) continue;
    found.source = entry->second.source;
    for (const std::uint32_t index : entry->second.images) {
      if (std::find(holders.begin(), holders.end(), index) == holders.end()) continue;
      found.image = index;
      found.paired = true;
      return found;
    }
  }
  // Lazily loaded: the image came after the call that made the handle.
  if (holders.size() == 1) found.image = holders.front();
  if (holders.empty()) found.refusal = "no module with this kernel was seen";
  if (holders.size() > 1) found.refusal = "several modules have a kernel of this name";
  return found;
}

const LoadedImage* image(std::uint32_t index) {
  const std::lock_guard lock(mutex);
  return index < images.size() ? &images[index] : nullptr;
}

Seen seen() {
  const std::lock_guard lock(mutex);
  return {.images = images.size(), .descriptors = maps.size()};
}

std::optional<EncodedMap> find_map(std::string_view bytes) {
  const std::lock_guard lock(mutex);
  // The newest: an address may have been handed out before.
  const auto found = std::find_if(maps.rbegin(), maps.rend(),
                                  [&](const EncodedMap& map) { return map.bytes == bytes; });
  if (found == maps.rend()) return std::nullopt;
  return *found;
}

}  // namespace ouroboros::live
