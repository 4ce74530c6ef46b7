#pragma once

// Why a loader of our own: a candidate arrives as a shared object, and no instruction of it may run
// before its process is sealed (after the seal, every system call stops it). dlopen cannot keep
// that order. It runs static constructors and IFUNC resolvers before it returns, and it believes
// the file: one forged relocation writes anywhere in the executor while the executor still may call
// the kernel. So the work is split in two. `Module::map` does, on checked bytes, everything that
// needs system calls and no candidate code. `Module::start` does the rest after the seal, and makes
// no system call.
//
// The loader is small because it needs to load only what the referee's own compile step makes: one
// self-contained ET_DYN image with a DT_HASH table, bound eagerly, one thread, never unloaded while
// the candidate lives. Everything else is refused by name.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

namespace ouroboros::host {

/// Why a module was refused: one printable sentence that names the feature, field or symbol.
struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate's shared object in this process's memory.
///
/// A module belongs to the thread that mapped it: its `thread_local` variables exist once.
class Module {
 public:
  /// Finds the address of a symbol that the module leaves undefined; nullptr when unknown.
  using Resolver = std::function<void*(const char* name)>;

  /// Maps `image`, whose bytes may be hostile, and relocates everything that needs no candidate
  /// code. Runs none of it and writes nowhere but in the module's own reservation, which
  /// inaccessible pages surround. The image is not needed afterwards.
  ///
  /// Throws `LoadError` for whatever the file does wrong, memory that it asks for and cannot have
  /// included, and `std::system_error` where the machine refuses to map or protect pages.
  static Module map(std::span<const std::byte> image, const Resolver& resolve);

  ~Module();
  Module(Module&& other) noexcept;
  Module& operator=(Module&& other) noexcept;

  /// Returns the address of an exported function, or nullptr when there is none of that name.
  ///
  /// An indirect function (STT_GNU_IFUNC) has an address only after `start`; asking for it runs
  /// its resolver.
  [[nodiscard]] void* find(std::string_view name) const;

  /// Whether the module exports a function of that name, indirect ones included. Runs nothing.
  [[nodiscard]] bool exports(std::string_view name) const;

  /// Runs the candidate's code that dlopen would have run: IFUNC resolvers, then DT_INIT and the
  /// constructors of DT_INIT_ARRAY, with C++ exceptions working. To be called once, after the seal.
  /// Makes no system call itself; registering the unwind tables may allocate from the heap.
  void start();

 private:
  struct State;
  friend class Loader;
  explicit Module(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ouroboros::host
