#pragma once

#include <optional>
#include <string>

namespace ouroboros::cuda {

/// What is wrong with a CUDA C++ source before any compiler sees it, as one sentence with its
/// line: an #include of anything but a header by its plain name, or a launch in device code.
/// The sandbox is what keeps files from being read; this gives a better message, and holds where
/// the kernel has no Landlock.
[[nodiscard]] std::optional<std::string> refuse_cuda_source(const std::string& source);

}  // namespace ouroboros::cuda
