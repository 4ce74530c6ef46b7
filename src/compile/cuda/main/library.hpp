#pragma once

#include <string>
#include <vector>

namespace ouroboros::cuda {

/// One of NVIDIA's libraries, loaded. Ends the process with `exit_library` when it cannot be.
class Library {
 public:
  explicit Library(const char* path);

  /// Null when the library has no such function.
  [[nodiscard]] void* find(const std::string& name) const;

  /// A function of a type that the caller knows. Ends the process when there is none.
  template <typename Function>
  [[nodiscard]] Function* get(const std::string& name) const {
    return reinterpret_cast<Function*>(require(name));
  }

 private:
  [[nodiscard]] void* require(const std::string& name) const;

  std::string path_;
  void* handle_ = nullptr;
};

/// Says why on the standard output, and ends the process.
[[noreturn]] void finish(int code, const std::string& message);

/// The whole of a file, which must be there.
[[nodiscard]] std::string read_text(const char* path);

void write_bytes(const char* path, const std::vector<char>& bytes);

/// Both compile `input` to `output` and end the process; without an input they say their version.
[[noreturn]] void run_nvrtc(const Library& library, const char* input, const char* output,
                            std::vector<std::string> options);
[[noreturn]] void run_jit_link(const Library& library, const char* input, const char* output,
                               const std::vector<std::string>& options);

}  // namespace ouroboros::cuda
