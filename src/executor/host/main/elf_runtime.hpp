#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What a module meets at run time in place of the dynamic loader's own helpers.
namespace ouroboros::host {

/// What compiled code passes to __tls_get_addr. The module's number, which only this loader gives
/// and reads, is the address of the module's thread-local storage.
struct TlsIndex {
  std::byte* storage;
  std::uint64_t offset;
};

/// This thread's pointer, from which compiled code counts thread-local storage.
std::uint64_t thread_pointer();

/// The address that goes into a TLS descriptor's first word.
std::uint64_t tls_descriptor_function();

/// The loader's own answer for a symbol, or nullptr where it has none.
void* own_symbol(std::string_view name);

/// Calls an IFUNC resolver as the platform's loader would, and returns the function's address.
std::uint64_t run_resolver(const void* resolver);

}  // namespace ouroboros::host
