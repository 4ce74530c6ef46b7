#pragma once

#include <map>
#include <string>

namespace ouroboros::cuda {

/// What nvcc has from the host's C and C++ libraries, and NVRTC lacks: texts by the names that
/// an `#include` gives. NVRTC looks here before it looks into the folders of -I. Without such
/// folders the headers of CUDA's runtime are here, too: NVRTC has all that kernels need of them.
[[nodiscard]] std::map<std::string, std::string> standard_headers(bool has_folders);

/// The one of them that comes before every source, for --pre-include.
inline constexpr const char* implicit_header = "ouroboros_implicit.h";

}  // namespace ouroboros::cuda
