#pragma once

/// What `ouroboros-cuda-compiler` and who starts it agree on.
namespace ouroboros::cuda {

/// How it ends. Its standard output is the log, or the one sentence that explains the end.
enum ExitCode : int {
  exit_compiled = 0,
  exit_source = 1,   ///< The source is at fault.
  exit_library = 3,  ///< NVIDIA's library could not be used.
  exit_target = 4,   ///< It does not know the architecture.
};

/// An option of ours: in the place of all -I, headers that NVRTC carries inside, if it does.
inline constexpr const char* bundled_headers = "--bundled-headers";

}  // namespace ouroboros::cuda
