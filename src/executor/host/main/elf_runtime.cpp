#include "executor/host/main/elf_runtime.hpp"

#include <sys/auxv.h>

// A TLS descriptor is {function, argument}; compiled code calls the function with the descriptor's
// address and adds the answer to the thread pointer. Ours answers with the argument. The calling
// convention lets it change no other register, hence the assembly.
extern "C" void ouroboros_tls_descriptor() __attribute__((visibility("hidden")));
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .hidden ouroboros_tls_descriptor
  .globl ouroboros_tls_descriptor
  .type ouroboros_tls_descriptor, @function
ouroboros_tls_descriptor:
  endbr64
  movq 8(%rax), %rax
  ret
  .size ouroboros_tls_descriptor, . - ouroboros_tls_descriptor
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .hidden ouroboros_tls_descriptor
  .globl ouroboros_tls_descriptor
  .type ouroboros_tls_descriptor, %function
ouroboros_tls_descriptor:
  hint #34 // bti c
  ldr x0, [x0, #8]
  ret
  .size ouroboros_tls_descriptor, . - ouroboros_tls_descriptor
  .popsection
)");
#else
#error "The host executor knows x86-64 and AArch64."
#endif

namespace ouroboros::host {
namespace {

void* tls_get_addr(const TlsIndex* index) { return index->storage + index->offset; }

/// Takes a destructor that will never run: a sealed process ends without unwinding.
int ignore_destructor() { return 0; }

}  // namespace

std::uint64_t thread_pointer() {
#if defined(__x86_64__)
  std::uint64_t pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
#endif
}

std::uint64_t tls_descriptor_function() {
  return reinterpret_cast<std::uint64_t>(&ouroboros_tls_descriptor);
}

void* own_symbol(std::string_view name) {
  if (name == "__tls_get_addr") return reinterpret_cast<void*>(&tls_get_addr);
  if (name == "__cxa_atexit" || name == "__cxa_thread_atexit") {
    return reinterpret_cast<void*>(&ignore_destructor);
  }
  return nullptr;
}

std::uint64_t run_resolver(const void* resolver) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uint64_t (*)()>(const_cast<void*>(resolver))();
#else
  struct Capabilities {
    std::uint64_t size;
    std::uint64_t hwcap;
    std::uint64_t hwcap2;
  };
  constexpr std::uint64_t capabilities_follow = std::uint64_t{1} << 62;
  const Capabilities capabilities{sizeof(Capabilities), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  return reinterpret_cast<std::uint64_t (*)(std::uint64_t, const Capabilities*)>(
      const_cast<void*>(resolver))(capabilities.hwcap | capabilities_follow, &capabilities);
#endif
}

}  // namespace ouroboros::host
