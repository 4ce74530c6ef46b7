// Fuzzes launch specifications: any source must be read or refused, and what is read must be
// evaluated or refused, on any shapes; and as PTX, any can be staggered and asked for its kernels.
// Seeds are sources behind two bytes for the shape.

#include <cstddef>
#include <cstdint>
#include <string>

#include "compile/cuda/cuda.hpp"
#include "compile/cuda/refuse_source.hpp"
#include "compile/cuda/stagger.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ouroboros;
  if (size < 2) return 0;
  const std::int64_t rows = data[0];
  const std::int64_t cols = data[1];
  const std::string source(reinterpret_cast<const char*>(data) + 2, size - 2);
  static_cast<void>(cuda::refuse_cuda_source(source));
  static_cast<void>(cuda::staggered(source));
  static_cast<void>(cuda::parameter_kinds(source));
  try {
    cuda::CudaModule module;
    module.specification = cuda::parse_specification(source);
    KernelResources kernel;
    kernel.function = "k";
    kernel.parameters = {{0, 8}, {8, 8}, {16, 4}};
    kernel.parameter_bytes = 20;
    module.kernels.push_back(kernel);
    const auto bytes = static_cast<std::uint64_t>(rows * cols * 4);
    const auto plan = cuda::plan_for(
        module,
        {{"x", PlanRole::input, bytes, DType::float32, {rows, cols}, {cols, 1}, {}},
         {"out", PlanRole::output, bytes, DType::float32, {rows, cols}, {cols, 1}, {}}},
        {{"rows", rows}, {"cols", cols}});
    static_cast<void>(plan);
  } catch (const cuda::SpecificationFault&) {
    // Refused, which is what most inputs deserve.
  }
  return 0;
}
