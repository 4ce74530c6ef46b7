// Fuzzes the executor's module loader: any bytes must be refused or mapped, and nothing outside the
// module may be touched. Seeds are shared objects, linked as the referee links them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "executor/host/main/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ouroboros::host::LoadError;
  using ouroboros::host::Module;
  static std::byte dummy;
  try {
    const Module module =
        Module::map(std::as_bytes(std::span(data, size)), [](const char* name) -> void* {
          return std::string_view(name).empty() ? nullptr : static_cast<void*>(&dummy);
        });
    static_cast<void>(module.find("run_float32"));
  } catch (const LoadError&) {
    // Refused, which is what most inputs deserve.
  }
  return 0;
}
