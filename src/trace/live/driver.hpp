#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// The part of the CUDA driver that the live trace needs. Nothing is linked and no CUDA header is
/// read: the types are declared here, as the driver's ABI has them, and the functions are loaded.
namespace ouroboros::live {

using Handle = void*;  // CUgraph, CUgraphNode, CUfunction, CUkernel, CUmodule, CUlibrary, ...
using Address = std::uint64_t;  // CUdeviceptr
using Result = int;             // CUresult

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  Handle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  Handle kernel;
  Handle context;
};

struct MemsetNode {  // CUDA_MEMSET_NODE_PARAMS
  Address target;
  std::size_t pitch;
  unsigned value;
  unsigned width;
  std::size_t count;
  std::size_t rows;
};

struct CopyPlace {
  std::size_t x_bytes, y, z, level;
  int memory;  // CUmemorytype: 1 host, 2 device, 3 array, 4 unified
  void* host;
  Address device;
  Handle array;
  void* reserved;
  std::size_t pitch, height;
};

struct CopyNode {  // CUDA_MEMCPY3D_v2
  CopyPlace source;
  CopyPlace target;
  std::size_t bytes, rows, depth;
};

struct AttributeValue {  // CUlaunchAttributeValue
  alignas(8) unsigned words[16];
};

struct EdgeData {  // CUgraphEdgeData
  unsigned char bytes[8];
};

struct Location {  // CUmemLocation
  int type;
  int id;
};

struct AllocationProperties {  // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
  void* windows;
  unsigned char flags[8];
};

struct AccessDescription {  // CUmemAccessDesc
  Location location;
  int flags;
};

static_assert(sizeof(KernelNode) == 72);
static_assert(sizeof(MemsetNode) == 40);
static_assert(sizeof(CopyNode) == 200);
static_assert(sizeof(AttributeValue) == 64);
static_assert(sizeof(AllocationProperties) == 32);
static_assert(sizeof(AccessDescription) == 12);

/// Entry points of libcuda.so.1.
struct Driver {
  Result (*get_nodes)(Handle graph, Handle* nodes, std::size_t* count);
  Result (*get_edges)(Handle graph, Handle* from, Handle* to, EdgeData* data, std::size_t* count);
  Result (*get_type)(Handle node, int* type);
  Result (*get_kernel)(Handle node, KernelNode* kernel);
  Result (*get_attribute)(Handle node, int attribute, AttributeValue* value);
  Result (*get_memset)(Handle node, MemsetNode* memset);
  Result (*get_copy)(Handle node, CopyNode* copy);
  Result (*get_child)(Handle node, Handle* graph);
  Result (*function_name)(const char** name, Handle function);
  Result (*function_parameter)(Handle function, std::size_t index, std::size_t* at,
                               std::size_t* size);
  Result (*function_module)(Handle* module, Handle function);
  Result (*kernel_name)(const char** name, Handle kernel);
  Result (*kernel_parameter)(Handle kernel, std::size_t index, std::size_t* at, std::size_t* size);
  Result (*kernel_function)(Handle* function, Handle kernel);
  Result (*kernel_library)(Handle* library, Handle kernel);
  Result (*pointer_attribute)(void* value, int attribute, Address pointer);
  Result (*reserve)(Address* base, std::size_t bytes, std::size_t alignment, Address wanted,
                    unsigned long long flags);
  Result (*create)(unsigned long long* memory, std::size_t bytes,
                   const AllocationProperties* properties, unsigned long long flags);
  Result (*map)(Address base, std::size_t bytes, std::size_t offset, unsigned long long memory,
                unsigned long long flags);
  Result (*set_access)(Address base, std::size_t bytes, const AccessDescription* access,
                       std::size_t count);
  Result (*unmap)(Address base, std::size_t bytes);
  Result (*release)(unsigned long long memory);
  Result (*synchronize)();
  Result (*exchange_capture_mode)(int* mode);
  Result (*error_name)(Result result, const char** name);
};

/// The driver, loaded at first use. Throws std::runtime_error with one sentence if there is none.
[[nodiscard]] const Driver& driver();

/// Throws std::runtime_error that names the driver's error and what was being done.
void require(Result result, const char* what);

}  // namespace ouroboros::live
