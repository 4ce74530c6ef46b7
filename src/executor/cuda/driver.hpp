#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

/// The CUDA driver, loaded at run time: every function that the executor uses, and the few types
/// that they need. Nothing here comes from the toolkit, so that the project builds without it.
/// The numbers are the driver's binary interface, which does not change.
namespace ouroboros::cuda {

using Address = std::uint64_t;         ///< CUdeviceptr.
using PhysicalHandle = std::uint64_t;  ///< CUmemGenericAllocationHandle.
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphExecutable = struct GraphExecutableTag*;

struct Uuid {
  unsigned char bytes[16];
};

struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE.
  int id = 0;
};

struct AllocationProperties {
  int type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED, which device memory is.
  int requested_handles = 0;
  MemoryLocation location;
  void* windows_only = nullptr;
  unsigned char flags[8] = {};
};
static_assert(sizeof(AllocationProperties) == 32);

enum class Access : int { none = 0, read = 1, read_write = 3 };

struct AccessDescription {
  MemoryLocation location;
  Access access = Access::none;
};
static_assert(sizeof(AccessDescription) == 12);

struct LaunchAttribute {
  static constexpr int cooperative = 2;
  static constexpr int cluster_dimension = 4;
  int id = 0;
  int padding = 0;
  std::uint32_t value[16] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfiguration {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(LaunchConfiguration) == 56);

struct alignas(64) TensorMap {
  std::uint64_t opaque[16] = {};
};

// CUdevice_attribute.
inline constexpr int attribute_multiprocessors = 16;
inline constexpr int attribute_memory_clock_khz = 36;
inline constexpr int attribute_memory_bus_bits = 37;
inline constexpr int attribute_l2_bytes = 38;
inline constexpr int attribute_capability_major = 75;
inline constexpr int attribute_capability_minor = 76;
inline constexpr int attribute_pageable_access = 88;
inline constexpr int attribute_shared_optin = 97;
inline constexpr int attribute_virtual_memory = 102;

// CUfunction_attribute.
inline constexpr int function_local_bytes = 3;
inline constexpr int function_dynamic_shared = 8;
inline constexpr int function_wide_clusters = 13;

// CUpointer_attribute, and a CUmemorytype.
inline constexpr int pointer_memory_type = 2;
inline constexpr unsigned memory_type_host = 1;

/// CU_MEMHOSTALLOC_DEVICEMAP.
inline constexpr unsigned host_memory_mapped = 2;

/// CU_STREAM_CAPTURE_MODE_RELAXED.
inline constexpr int capture_relaxed = 2;

/// CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
inline constexpr int handle_file_descriptor = 1;

// CUlimit.
inline constexpr int limit_printf_fifo = 1;
inline constexpr int limit_malloc_heap = 2;
inline constexpr int limit_persisting_l2 = 6;

// The last argument of cuLaunchKernelEx is a list of these, each with its value.
inline constexpr std::uintptr_t extra_end = 0;
inline constexpr std::uintptr_t extra_buffer = 1;
inline constexpr std::uintptr_t extra_size = 2;

inline constexpr int status_success = 0;
inline constexpr int status_invalid_value = 1;
inline constexpr int status_out_of_memory = 2;
inline constexpr int status_not_ready = 600;

/// The oldest CUDA version whose driver has everything below.
inline constexpr int oldest_driver = 12000;

// Field, symbol, parameters. All return a CUresult.
#define OUROBOROS_CUDA_DRIVER(X)                                                                 \
  X(cuInit, cuInit, (unsigned flags))                                                            \
  X(cuDriverGetVersion, cuDriverGetVersion, (int* version))                                      \
  X(cuGetErrorName, cuGetErrorName, (int status, const char** text))                             \
  X(cuGetErrorString, cuGetErrorString, (int status, const char** text))                         \
  X(cuDeviceGetCount, cuDeviceGetCount, (int* count))                                            \
  X(cuDeviceGet, cuDeviceGet, (int* device, int ordinal))                                        \
  X(cuDeviceGetName, cuDeviceGetName, (char* name, int size, int device))                        \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (Uuid * uuid, int device))                              \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int* value, int attribute, int device))         \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, int device))                     \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle * context, int device))   \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int device))                       \
  X(cuCtxGetCurrent, cuCtxGetCurrent, (ContextHandle * context))                                 \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (ContextHandle context))                                   \
  X(cuCtxSetLimit, cuCtxSetLimit, (int limit, std::size_t value))                                \
  X(cuCtxSynchronize, cuCtxSynchronize, ())                                                      \
  X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, ())                                \
  X(cuMemGetInfo, cuMemGetInfo_v2, (std::size_t* free_bytes, std::size_t* total))                \
  X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity,                                \
    (std::size_t* bytes, const AllocationProperties* properties, int option))                    \
  X(cuMemAddressReserve, cuMemAddressReserve,                                                    \
    (Address * address, std::size_t bytes, std::size_t alignment, Address hint,                  \
     std::uint64_t flags))                                                                       \
  X(cuMemAddressFree, cuMemAddressFree, (Address address, std::size_t bytes))                    \
  X(cuMemCreate, cuMemCreate,                                                                    \
    (PhysicalHandle * handle, std::size_t bytes, const AllocationProperties* properties,         \
     std::uint64_t flags))                                                                       \
  X(cuMemRelease, cuMemRelease, (PhysicalHandle handle))                                         \
  X(cuMemExportToShareableHandle, cuMemExportToShareableHandle,                                  \
    (void* file, PhysicalHandle handle, int type, std::uint64_t flags))                          \
  X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle,                              \
    (PhysicalHandle * handle, void* file, int type))                                             \
  X(cuPointerGetAttribute, cuPointerGetAttribute, (void* value, int attribute, Address address)) \
  X(cuMemMap, cuMemMap,                                                                          \
    (Address address, std::size_t bytes, std::size_t offset, PhysicalHandle handle,              \
     std::uint64_t flags))                                                                       \
  X(cuMemUnmap, cuMemUnmap, (Address address, std::size_t bytes))                                \
  X(cuMemSetAccess, cuMemSetAccess,                                                              \
    (Address address, std::size_t bytes, const AccessDescription* access, std::size_t count))    \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                     \
    (Address to, const void* from, std::size_t bytes, StreamHandle stream))                      \
  X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void* to, Address from, std::size_t bytes))                  \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                     \
    (Address to, Address from, std::size_t bytes, StreamHandle stream))                          \
  X(cuMemsetD8Async, cuMemsetD8Async,                                                            \
    (Address to, unsigned char value, std::size_t count, StreamHandle stream))                   \
  X(cuMemsetD16Async, cuMemsetD16Async,                                                          \
    (Address to, unsigned short value, std::size_t count, StreamHandle stream))                  \
  X(cuMemsetD32Async, cuMemsetD32Async,                                                          \
    (Address to, unsigned value, std::size_t count, StreamHandle stream))                        \
  X(cuMemHostAlloc, cuMemHostAlloc, (void** memory, std::size_t bytes, unsigned flags))          \
  X(cuMemFreeHost, cuMemFreeHost, (void* memory))                                                \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                     \
    (Address * address, void* memory, unsigned flags))                                           \
  X(cuModuleLoadData, cuModuleLoadData, (ModuleHandle * module, const void* image))              \
  X(cuModuleUnload, cuModuleUnload, (ModuleHandle module))                                       \
  X(cuModuleGetFunction, cuModuleGetFunction,                                                    \
    (FunctionHandle * function, ModuleHandle module, const char* name))                          \
  X(cuModuleGetGlobal, cuModuleGetGlobal_v2,                                                     \
    (Address * address, std::size_t* bytes, ModuleHandle module, const char* name))              \
  X(cuFuncGetAttribute, cuFuncGetAttribute, (int* value, int attribute, FunctionHandle of))      \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (FunctionHandle function, int attribute, int value)) \
  X(cuLaunchKernelEx, cuLaunchKernelEx,                                                          \
    (const LaunchConfiguration* configuration, FunctionHandle function, void** parameters,       \
     void** extra))                                                                              \
  X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled,                                              \
    (TensorMap * map, int data_type, std::uint32_t rank, void* address,                          \
     const std::uint64_t* sizes, const std::uint64_t* strides, const std::uint32_t* box,         \
     const std::uint32_t* element_strides, int interleave, int swizzle, int l2_promotion,        \
     int oob_fill))                                                                              \
  X(cuStreamCreate, cuStreamCreate, (StreamHandle * stream, unsigned flags))                     \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle stream, int mode))              \
  X(cuStreamEndCapture, cuStreamEndCapture, (StreamHandle stream, GraphHandle * graph))          \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags,                                             \
    (GraphExecutable * executable, GraphHandle graph, unsigned long long flags))                 \
  X(cuGraphDestroy, cuGraphDestroy, (GraphHandle graph))                                         \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (GraphExecutable executable))                        \
  X(cuGraphLaunch, cuGraphLaunch, (GraphExecutable executable, StreamHandle stream))             \
  X(cuEventCreate, cuEventCreate, (EventHandle * event, unsigned flags))                         \
  X(cuEventDestroy, cuEventDestroy_v2, (EventHandle event))                                      \
  X(cuEventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))                      \
  X(cuEventQuery, cuEventQuery, (EventHandle event))                                             \
  X(cuEventElapsedTime, cuEventElapsedTime,                                                      \
    (float* milliseconds, EventHandle start, EventHandle stop))

/// The driver's library: `chosen`, else $OUROBOROS_LIBCUDA, else libcuda.so.1.
[[nodiscard]] std::string driver_path(const std::string& chosen = {});

/// The table of functions of a driver.
struct Driver {
#define OUROBOROS_FIELD(field, symbol, parameters) int(*field) parameters = nullptr;
  OUROBOROS_CUDA_DRIVER(OUROBOROS_FIELD)
#undef OUROBOROS_FIELD

  int version = 0;  ///< 13000 for CUDA 13.0.

  /// Loads the driver and initialises it. Throws `NoDriver` that says what is missing.
  explicit Driver(const std::string& path = driver_path());

  /// "CUDA error 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered".
  [[nodiscard]] std::string describe(int status) const;

  /// Throws `DriverError` unless `status` is success.
  void check(int status, const char* what) const;
};

/// "GPU-" and 32 digits, as nvidia-smi has it.
[[nodiscard]] std::string uuid_of(const Driver& driver, int device);

/// There is no usable driver, or no device that can be used.
struct NoDriver : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A driver function failed.
struct DriverError : std::runtime_error {
  DriverError(int code, const std::string& text) : std::runtime_error(text), status(code) {}
  int status;
};

}  // namespace ouroboros::cuda
