#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ouroboros::cuda {

/// How PTX declares a kernel's parameter: pointers are integers there. `other`: bits, structures,
/// half precision, which may be anything.
enum class ParameterKind : std::uint8_t { other, integer, real };

/// The kinds of every kernel's parameters, in order. PTX may be hostile: what cannot be read is
/// left out, and a lie is the candidate's own loss.
[[nodiscard]] std::map<std::string, std::vector<ParameterKind>> parameter_kinds(
    std::string_view ptx);

}  // namespace ouroboros::cuda
