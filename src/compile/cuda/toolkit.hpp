#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ouroboros::cuda {

/// NVIDIA's compilers as files. Nothing here is linked or loaded by this process.
struct Toolkit {
  std::filesystem::path nvrtc;                 ///< libnvrtc.so.N; empty when there is none.
  std::filesystem::path jit_link;              ///< libnvJitLink.so.N; empty when there is none.
  std::filesystem::path assembler;             ///< ptxas; empty when there is none.
  std::vector<std::filesystem::path> headers;  ///< For -I.
  bool complete_headers = false;               ///< With those of the C++ libraries.
  std::string looked;                          ///< Where, in words.
};

/// Looks in `first`, in $OUROBOROS_NVRTC (both: folders or libraries), beside the libraries of this
/// process, in the active Python environment, in $CUDA_HOME and $CUDA_PATH, and in the system's
/// folders.
[[nodiscard]] Toolkit find_toolkit(const std::vector<std::filesystem::path>& first);

}  // namespace ouroboros::cuda
