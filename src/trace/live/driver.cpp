#include "trace/live/driver.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace ouroboros::live {
namespace {

template <class Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw std::runtime_error(std::string("The CUDA driver has no ") + name +
                             "; a live trace needs a driver of CUDA 12.4 or newer.");
  }
}

Driver load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error("There is no CUDA driver (libcuda.so.1) on this machine.");
  }
  Driver d{};
  load(library, "cuGraphGetNodes", d.get_nodes);
  load(library, "cuGraphGetEdges_v2", d.get_edges);
  load(library, "cuGraphNodeGetType", d.get_type);
  load(library, "cuGraphKernelNodeGetParams_v2", d.get_kernel);
  load(library, "cuGraphKernelNodeGetAttribute", d.get_attribute);
  load(library, "cuGraphMemsetNodeGetParams", d.get_memset);
  load(library, "cuGraphMemcpyNodeGetParams", d.get_copy);
  load(library, "cuGraphChildGraphNodeGetGraph", d.get_child);
  load(library, "cuFuncGetName", d.function_name);
  load(library, "cuFuncGetParamInfo", d.function_parameter);
  load(library, "cuFuncGetModule", d.function_module);
  load(library, "cuKernelGetName", d.kernel_name);
  load(library, "cuKernelGetParamInfo", d.kernel_parameter);
  load(library, "cuKernelGetFunction", d.kernel_function);
  load(library, "cuKernelGetLibrary", d.kernel_library);
  load(library, "cuPointerGetAttribute", d.pointer_attribute);
  load(library, "cuMemAddressReserve", d.reserve);
  load(library, "cuMemCreate", d.create);
  load(library, "cuMemMap", d.map);
  load(library, "cuMemSetAccess", d.set_access);
  load(library, "cuMemUnmap", d.unmap);
  load(library, "cuMemRelease", d.release);
  load(library, "cuCtxSynchronize", d.synchronize);
  load(library, "cuThreadExchangeStreamCaptureMode", d.exchange_capture_mode);
  load(library, "cuGetErrorName", d.error_name);
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

void require(Result result, const char* what) {
  if (result == 0) return;
  const char* name = nullptr;
  driver().error_name(result, &name);
  throw std::runtime_error(std::string(what) + " failed: " + (name ? name : "unknown error") + ".");
}

}  // namespace ouroboros::live
