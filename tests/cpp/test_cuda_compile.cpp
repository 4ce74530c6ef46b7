// CUDA C++ and PTX by NVIDIA's own compilers, in a sandbox: what a source can and cannot do.
// Where NVRTC is not found the cases are skipped, with a line that says so.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "compile/cuda/cuda.hpp"
#include "compile/cuda/stagger.hpp"
#include "compile/cuda/toolkit.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"
#include "processes.hpp"

using namespace ouroboros;
using cuda::CudaModule;

namespace {

const std::string softmax =
    R"(//! launch softmax<<<rows, 256, shared = 4 * cols>>>(x, out, rows, cols: int64)
extern "C" __global__ void softmax(const OUROBOROS_DTYPE* x, OUROBOROS_DTYPE* out, int rows,
                                   long long cols) {
  extern __shared__ float values[];
  for (long long i = threadIdx.x; i < cols; i += blockDim.x) {
    values[i] = (float)x[blockIdx.x * cols + i];
    out[blockIdx.x * cols + i] = (OUROBOROS_DTYPE)values[i];
  }
}
)";

bool without_nvrtc() {
  static const bool none = cuda::find_toolkit({}).nvrtc.empty();
  if (none) WARN("skipped: NVRTC was not found; OUROBOROS_NVRTC can name its folder");
  return none;
}

CudaModule compiled(const std::string& source, const std::string& target = "sm_90",
                    DType dtype = DType::float32, const Limits& limits = {}) {
  return cuda::compile_cuda({source, "test", "cuda"}, dtype, target, limits, {}, {});
}

const std::string scale_ptx = R"(//! launch scale<<<cdiv(n, 128), 128>>>(x, out, n)
.version 7.0
.target sm_80
.address_size 64

.visible .entry scale(.param .u64 x, .param .u64 out, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 128, %r3;
  setp.ge.s32 %p1, %r4, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd5], %f2;
done:
  ret;
}
)";

CudaModule assembled(const std::string& source, const std::string& target = "sm_90") {
  return cuda::compile_cuda({source, "test", "ptx"}, DType::float32, target, {}, {}, {});
}

bool without_assembler() {
  static const auto toolkit = cuda::find_toolkit({});
  const bool none = toolkit.jit_link.empty() && toolkit.assembler.empty();
  if (none)
    WARN("skipped: neither nvJitLink nor ptxas was found; OUROBOROS_NVRTC can name a folder");
  return none;
}

/// A kernel that does nothing, with `top` before it and `body` in it.
std::string kernel(const std::string& top, const std::string& body = "") {
  return top + "\n//! launch k<<<1, 32>>>(out)\nextern \"C\" __global__ void k(float* out) {" +
         body + "}\n";
}

std::string failure_of(const CudaModule& module) {
  UNSCOPED_INFO(module.record.log.substr(0, 600));
  CHECK(module.cubin.bytes.empty());
  CHECK_FALSE(module.record.succeeded);
  return module.failure ? module.failure->kind : "none";
}

std::vector<PlanBuffer> matrix(std::int64_t rows, std::int64_t cols, DType dtype) {
  const auto bytes = static_cast<std::uint64_t>(rows * cols) * size_of(dtype);
  return {{"x", PlanRole::input, bytes, dtype, {rows, cols}, {cols, 1}, {}},
          {"out", PlanRole::output, bytes, dtype, {rows, cols}, {cols, 1}, {}}};
}

}  // namespace

TEST_CASE("a CUDA C++ source becomes a plan that the audit accepts") {
  if (without_nvrtc()) return;
  const auto module = compiled(softmax);
  INFO(module.record.log);
  REQUIRE_FALSE(module.failure);
  CHECK(cubin_target(module.cubin.bytes) == "sm_90a");
  CHECK_THAT(module.record.compiler, ContainsSubstring("NVRTC 1"));
  CHECK(module.record.entries == std::vector<std::string>{"softmax"});

  const auto signature = matrix(64, 100, DType::float32);
  const auto plan = cuda::plan_for(module, signature, {{"rows", 64}, {"cols", 100}});
  PlanRules rules;
  rules.signature = signature;
  CHECK(audit(plan, rules).empty());
  const auto bytes = plan.serialise();
  CHECK(LaunchPlan::parse(bytes).serialise() == bytes);

  REQUIRE(plan.launches.size() == 1);
  const auto& launch = std::get<KernelLaunch>(plan.launches[0]);
  CHECK(launch.grid == Dim3{64, 1, 1});
  CHECK(launch.block == Dim3{256, 1, 1});
  CHECK(launch.shared_bytes == 400);
  REQUIRE(launch.parameters.size() == 32);
  std::int64_t cols = 0;
  std::memcpy(&cols, launch.parameters.data() + 24, sizeof cols);
  CHECK(cols == 100);
}

TEST_CASE("one source is compiled for every dtype") {
  if (without_nvrtc()) return;
  const std::string source = R"(//! launch twice<<<cdiv(x.elements, 256), 256>>>(x, out, x.elements)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void twice(const OUROBOROS_DTYPE* x, OUROBOROS_DTYPE* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + x[i];
#ifdef OUROBOROS_DTYPE_bfloat16
  static_assert(sizeof(OUROBOROS_DTYPE) == 2);
#endif
}
)";
  std::vector<std::string> seen;
  for (const auto dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const auto module = compiled(source, "sm_90", dtype);
    INFO(module.record.log);
    REQUIRE_FALSE(module.failure);
    seen.push_back(module.cubin.sha256);
    CHECK(cuda::plan_for(module, matrix(3, 5, dtype), {}).launches.size() == 1);
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a source is compiled for the architecture that was asked for, with all that it has") {
  if (without_nvrtc()) return;
  for (const auto& [target, in_full] : std::vector<std::pair<std::string, std::string>>{
           {"sm_80", "sm_80"}, {"sm_90", "sm_90a"}, {"sm_90a", "sm_90a"}, {"sm_100", "sm_100a"}}) {
    const auto module = compiled(softmax, target);
    INFO(module.record.log);
    REQUIRE_FALSE(module.failure);
    CHECK(cubin_target(module.cubin.bytes) == in_full);
    CHECK(module.target == target);
  }
  const auto warpgroups = compiled(kernel("", R"(asm volatile("wgmma.fence.sync.aligned;");)"));
  INFO(warpgroups.record.log);
  CHECK_FALSE(warpgroups.failure);
}

TEST_CASE("CUDA's headers are there by their names") {
  if (without_nvrtc()) return;
  const auto module =
      compiled(kernel("#include <cooperative_groups.h>\n#include <cuda/std/cstdint>\n"
                      "#include <mma.h>",
                      "cooperative_groups::this_thread_block().sync();"));
  INFO(module.record.log);
  CHECK_FALSE(module.failure);
}

TEST_CASE("what nvcc has without an include is there") {
  if (without_nvrtc()) return;
  for (const std::string value :
       {"INFINITY - NAN + HUGE_VALF", "FLT_MAX * FLT_EPSILON", "DBL_MIN", "INT_MAX - CHAR_BIT",
        "UINT32_MAX", "M_PI", "M_SQRT1_2", "uint32_t(-1) + int64_t(-1)", "uint(1) + size_t(1)",
        "std::max(out[1], 2.f)", "std::min<float>(1, out[1])", "std::clamp(out[1], 0.f, 1.f)",
        "std::sqrt(out[1])", "std::isnan(out[1])", "std::uint8_t(300)", "sqrt(int(out[1]))"}) {
    const auto module = compiled(kernel("", "out[0] = " + value + "; std::swap(out[0], out[1]);"));
    CAPTURE(value, module.record.log);
    CHECK_FALSE(module.failure);
  }
  const auto module = compiled(
      kernel("static_assert(INFINITY > FLT_MAX && FLT_MAX == 3.402823466e38f && NAN != NAN);\n"
             "static_assert(FLT_MIN == 1.175494351e-38f && FLT_EPSILON == 1.192092896e-7f);\n"
             "static_assert(DBL_MAX == 1.7976931348623157e308 && HUGE_VAL > DBL_MAX);\n"
             "static_assert(DBL_EPSILON == 2.220446049250313e-16);\n"
             "static_assert(INT_MIN < 0 && INT_MIN - 1ll == -2147483649ll && UINT_MAX + 1 == 0);\n"
             "static_assert(LLONG_MAX > 0 && INT64_MIN < 0 && SIZE_MAX + 1 == 0);\n"
             "static_assert(sizeof(int16_t) == 2 && sizeof(uint64_t) == 8 && int8_t(-1) < 0);\n"
             "static_assert(sizeof INFINITY == 4 && sizeof HUGE_VAL == 8 && sizeof M_PI == 8);\n"
             "static_assert(std::max(2, 3) == 3 && std::min(2, 3) == 2);\n"
             "static_assert(std::clamp(7, 2, 3) == 3 && std::clamp(1, 2, 3) == 2);"));
  INFO(module.record.log);
  CHECK_FALSE(module.failure);
}

TEST_CASE("headers of the standard library are there by their names") {
  if (without_nvrtc()) return;
  const std::string line = "out[0] = sqrt(min(abs(out[0]), 1.f));";
  for (const std::string name :
       {"math.h", "cmath", "float.h", "cfloat", "stdint.h", "cstdint", "limits.h", "climits",
        "stdio.h", "cstdio", "stdlib.h", "cstdlib", "assert.h", "cassert", "stddef.h", "cstddef",
        "string.h", "cstring", "cuda_runtime.h"}) {
    const auto module = compiled(kernel("#include <" + name + ">\nusing namespace std;", line));
    CAPTURE(name, module.record.log);
    CHECK_FALSE(module.failure);
  }
  for (const auto& [name, body] : std::vector<std::pair<std::string, std::string>>{
           {"limits", "out[1] = numeric_limits<float>::infinity();"},
           {"type_traits", "static_assert(is_same_v<remove_const_t<const int>, int>);"},
           {"utility", "auto two = make_pair(1, std::move(out[1])); swap(two, two);"},
           {"algorithm", "out[1] = std::max({out[1], 2.f, 3.f}) + std::min({1, 2});"},
           {"array", "std::array<float, 2> two = {1, 2}; out[1] = two[threadIdx.x];"},
           {"tuple", "auto [a, b] = make_tuple(1, 2.f); out[1] = a + b;"},
           {"cstdio", "assert(out != nullptr); printf(\"%f\", out[1]);"},
           {"cuda.h", "static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);"},
       }) {
    const auto module =
        compiled(kernel("#include <" + name + ">\nusing namespace std;", line + body));
    CAPTURE(name, module.record.log);
    CHECK_FALSE(module.failure);
  }
}

TEST_CASE("of CUB there is what is for blocks and warps, by the name of the whole") {
  if (without_nvrtc()) return;
  const auto module = compiled(kernel(
      "#include <cub/cub.cuh>",
      "using Sort = cub::BlockRadixSort<float, 32, 1>; using Warp = cub::WarpReduce<float>;\n"
      "__shared__ typename Sort::TempStorage sorts; __shared__ typename Warp::TempStorage warps;\n"
      "float one[1] = {out[0]}; Sort(sorts).Sort(one); out[0] = Warp(warps).Sum(one[0]);"));
  INFO(module.record.log);
  CHECK_FALSE(module.failure);
  const auto host = compiled(kernel("#include <vector>"));
  REQUIRE(host.failure);
  CHECK_THAT(host.failure->message, ContainsSubstring("there are CUDA's headers, cub/block/*"));
}

TEST_CASE("the standard names and CUDA's headers do not disturb each other") {
  if (without_nvrtc()) return;
  const auto module = compiled(
      kernel("#include <cstdint>\n#include <algorithm>\n#include <cuda/std/cstdint>\n"
             "#include <cuda/std/limits>\n#include <cuda/std/functional>\n#include <cuda_fp16.h>\n"
             "#include <cuda_fp8.h>\n#include <limits>\nusing namespace std;",
             "swap(out[0], out[1]);"
             "out[0] = min(out[0], out[1]) + sqrt(out[0]) + INT_MAX + cuda::std::min(1, 2);"));
  INFO(module.record.log);
  CHECK_FALSE(module.failure);
}

TEST_CASE("a source may name its own things as the standard library does") {
  if (without_nvrtc()) return;
  for (const std::string own :
       {"typedef unsigned int uint;", "using uint = unsigned;", "#define uint unsigned",
        "typedef unsigned long long uint64_t;", "typedef unsigned long uint64_t;",
        "#define INFINITY __int_as_float(0x7f800000)", "#define FLT_MAX 3.402823466e+38F",
        "#define M_PI 3.14159265358979323846", "#define M_PI 3.14f\n#define INT_MAX 2147483647",
        "#ifndef NAN\n#define NAN 0\n#endif", "constexpr float INFINITY = 1e30f;",
        "const double M_PI = 3.14;", "enum { CHAR_BIT = 8 };",
        "#define max(a, b) ((a) > (b) ? (a) : (b))\n#include <algorithm>",
        "template <class T> T sqrt(T x) { return x; }", "struct clamp {}; void swap(int, int) {}",
        "namespace std { template <class T> const T& max(const T& a, const T&) { return a; } }",
        "#include <cuda/std/limits>\nnamespace std { using cuda::std::numeric_limits; }"}) {
    const auto module = compiled(kernel(own));
    CAPTURE(own, module.record.log);
    CHECK_FALSE(module.failure);
    CHECK_THAT(module.record.log, !ContainsSubstring("macro"));
  }
  const auto module = compiled(kernel("#define M_PI 3\nstatic_assert(M_PI == 3);"));
  INFO(module.record.log);
  CHECK_FALSE(module.failure);
}

TEST_CASE("a kernel takes the tensor map that its specification describes") {
  if (without_nvrtc()) return;
  const auto module = compiled(
      "//! launch k<<<1, 1>>>(out, tensor_map(x, box = (4, 2)), 7)\n"
      "struct alignas(64) TensorMap { char bytes[128]; };\n"
      "extern \"C\" __global__ void k(float* out, const __grid_constant__ TensorMap map, int n)\n"
      "{ out[0] = n + (size_t)&map; }\n");
  INFO(module.record.log);
  REQUIRE_FALSE(module.failure);
  const auto signature = matrix(16, 64, DType::float32);
  const auto plan = cuda::plan_for(module, signature, {});
  PlanRules rules;
  rules.signature = signature;
  for (const auto& refusal : audit(plan, rules)) UNSCOPED_INFO(refusal.evidence);
  CHECK(audit(plan, rules).empty());
  CHECK(std::get<KernelLaunch>(plan.launches.at(0)).tensor_maps.at(0).at ==
        module.kernels.at(0).parameters.at(1).offset);
}

TEST_CASE("the same source gives the same cubin wherever it is compiled") {
  if (without_nvrtc()) return;
  const auto first = compiled(softmax);
  REQUIRE_FALSE(first.failure);
  CHECK(compiled(softmax).cubin.sha256 == first.cubin.sha256);
  for (const auto& flag : first.record.flags) {
    CHECK_THAT(flag, !ContainsSubstring("/") && !ContainsSubstring("fast"));
  }
}

TEST_CASE("diagnostics of CUDA C++ have the source's own lines") {
  if (without_nvrtc()) return;
  const auto module = compiled(kernel("// one\n// two", "\n  nothing = 1;\n"));
  CHECK(failure_of(module) == "compile_error");
  CHECK_THAT(module.record.log, ContainsSubstring("candidate.cu(5)"));
  CHECK_THAT(module.failure->message, ContainsSubstring("nothing"));
  CHECK_FALSE(module.record.compiler.empty());
  for (const std::string header : {"cmath", "limits", "cuda.h", "cuda_fp16.h"}) {
    const auto included =
        compiled(kernel("#include <" + header + ">", "\n  nothing = INFINITY;\n"));
    CHECK(failure_of(included) == "compile_error");
    CHECK_THAT(included.failure->message,
               ContainsSubstring("candidate.cu(4): error: identifier \"nothing\""));
  }
}

TEST_CASE("a kernel with the name of a function of CUDA's is told so") {
  if (without_nvrtc()) return;
  for (const std::string name : {"norm", "max", "exp", "printf"}) {
    const auto module =
        compiled("//! launch " + name + "<<<1, 32>>>(out)\nextern \"C\" __global__ " + "void " +
                 name + "(float* out, int a, int b) {}\n");
    CHECK(failure_of(module) == "compile_error");
    CHECK_THAT(module.failure->message,
               ContainsSubstring('"' + name + '"') && ContainsSubstring("rename the kernel"));
  }
}

TEST_CASE("no CUDA source reads a file of the machine") {
  const ouroboros_test::Folder folder;
  const auto secret = (folder.path() / "secret").string();
  std::ofstream(secret) << "hunter2 root:\n";
  for (const std::string& path : {secret, std::string("/etc/passwd"), "../../../../../" + secret}) {
    const std::string quoted = "\"" + path + "\"";
    for (const auto& source :
         {"#include " + quoted, "#define SECRET " + quoted + "\n#include SECRET",
          "# /* */ inc\\\nlude " + quoted, "%:include " + quoted, "#include <" + path + ">",
          "#include_next " + quoted, "#import " + quoted, "#embed " + quoted,
          "const char* a = \"//\"; const char b = '\"'; /* \n */ # include " + quoted,
          "#include /*\n*/ " + quoted}) {
      const auto module = compiled(kernel(source));
      CAPTURE(source);
      CHECK(failure_of(module) == "refused_source");
      CHECK_THAT(module.failure->message,
                 ContainsSubstring("line ") && ContainsSubstring("is refused"));
    }
  }
  for (const std::string harmless :
       {"// #include \"/etc/passwd\"", "/* \n#include \"/etc/passwd\"\n*/",
        "#define DIGITS 1'000\n// it's",
        "const char* a = R\"x(\n#include \"/etc/passwd\"\n)x\";"}) {
    CAPTURE(harmless);
    if (!without_nvrtc()) CHECK_FALSE(compiled(kernel(harmless)).failure);
  }
}

TEST_CASE("what inspection does not see the sandbox stops") {
  if (without_nvrtc()) return;
  if (probe_isolation().landlock_abi == 0) {
    WARN("skipped: this machine has no Landlock");
    return;
  }
  // A raw string that the preprocessor, reading on a directive's line, takes for a plain one would
  // be such a gap; asking whether a file exists is another, which is no directive.
  for (const std::string file : {"\"/etc/passwd\"", "</etc/passwd>"}) {
    const auto module =
        compiled(kernel("#include <cmath>\n#if __has_include(" + file + ")\n#error found\n#endif",
                        "out[0] = INFINITY;"));
    INFO(module.record.log);
    CHECK_FALSE(module.failure);
  }
}

TEST_CASE("device code launches nothing itself") {
  const auto module = compiled(kernel("", "\n  k<<<1, 1>>>(out);\n"));
  CHECK(failure_of(module) == "refused_source");
  CHECK_THAT(module.failure->message, ContainsSubstring("line 4") && ContainsSubstring("'<<<'"));
  if (without_nvrtc()) return;
  // Shifts are no launches, and neither are comments and strings.
  CHECK_FALSE(compiled(kernel("const char* text = \"<<<\";  // <<<", "out[0] = 1 << 2;")).failure);
}

TEST_CASE("a source that keeps the compiler busy is stopped") {
  if (without_nvrtc()) return;
  Limits limits;
  limits.compile_seconds = 1;
  const ouroboros_test::Folder scratch;
  const auto module = cuda::compile_cuda(
      {kernel("template <int D, int I> struct B {\n"
              "  static constexpr long v = B<D - 1, 2 * I>::v + B<D - 1, 2 * I + 1>::v;\n};\n"
              "template <int I> struct B<0, I> { static constexpr long v = I; };\n",
              "out[0] = B<24, 0>::v;"),
       "test", "cuda"},
      DType::float32, "sm_90", limits, scratch.path(), {});
  CHECK(failure_of(module) == "timeout");
  CHECK(scratch.empty());
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a source that needs too much of the machine fails alone") {
  if (without_nvrtc()) return;
  CHECK(failure_of(compiled(kernel("template <int I> struct R { typename R<I + 1>::type x; };",
                                   "R<0> r;"))) == "compile_error");
  Limits limits;
  limits.image_mib = 4;
  CHECK(failure_of(compiled(kernel("__constant__ int ok;\n__device__ char table[16 << 20] = {1};",
                                   "out[0] = table[threadIdx.x];"),
                            "sm_90", DType::float32, limits)) == "compile_error");
  limits = {};
  limits.log_kib = 2;
  std::string errors;
  for (int i = 0; i < 90; ++i) errors += "int f" + std::to_string(i) + "() { return missing; }\n";
  const auto module = compiled(kernel(errors), "sm_90", DType::float32, limits);
  CHECK(failure_of(module) == "compile_error");
  CHECK(module.record.log.size() <= 2048);
}

TEST_CASE("a gigabyte of constants does not fit into a compilation") {
  if (without_nvrtc()) return;
  Limits limits;
  limits.compile_memory_mib = 1024;
  CHECK(failure_of(compiled(
            kernel("__device__ char table[1 << 30] = {1};", "out[0] = table[threadIdx.x];"),
            "sm_90", DType::float32, limits)) == "compile_error");
}

TEST_CASE("a source that cannot launch is refused before it is compiled") {
  const auto failure = [](const std::string& source) {
    const auto module = compiled(source);
    CHECK(module.failure);
    return module.failure ? module.failure->kind + ": " + module.failure->message : "";
  };
  CHECK_THAT(failure("extern \"C\" __global__ void k() {}"),
             ContainsSubstring("launch_specification: the source launches nothing"));
  CHECK_THAT(failure("//! launch k<<<1"), ContainsSubstring("launch_specification: line 1"));
  CHECK_THAT(failure("//! launch k<<<1, 1>>>()\n//! dtypes float16"),
             ContainsSubstring("line 2, column 5: 'dtypes' does not name float32"));
  CHECK_THAT(failure("//! launch k<<<1, 1>>>()\n#embed \"/etc/passwd\""),
             ContainsSubstring("'#embed \"/etc/passwd\"' is refused"));
  CHECK_THAT(failure(std::string("//! launch k<<<1, 1>>>()\0x", 27)),
             ContainsSubstring("refused_source") && ContainsSubstring("zero byte"));
  CHECK_THAT(failure(kernel(std::string(2 << 20, ' '))),
             ContainsSubstring("refused_source") && ContainsSubstring("2048 KiB"));
}

TEST_CASE("numbers become what a kernel takes") {
  if (without_nvrtc()) return;
  const auto module = compiled(
      "//! launch k<<<1, 1>>>(cols, cols, 1, 1.0 / cols, x, 0.1, true, -3, 1.5: float16);\n"
      "#include <cuda_fp16.h>\n"
      "extern \"C\" __global__ void k(int n, float a, double b, float c, const float* x,\n"
      "                             double d, bool e, short f, __half g) {}");
  INFO(module.record.log);
  REQUIRE_FALSE(module.failure);
  const auto plan = cuda::plan_for(module, matrix(2, 5, DType::float32), {{"cols", 5}});
  const auto& launch = std::get<KernelLaunch>(plan.launches.at(0));
  const auto read = [&launch](std::size_t i, auto value) {
    REQUIRE(launch.fields.at(i).size == sizeof value);
    std::memcpy(&value, launch.parameters.data() + launch.fields[i].offset, sizeof value);
    return value;
  };
  CHECK(read(0, int{}) == 5);
  CHECK(read(1, float{}) == 5.0F);
  CHECK(read(2, double{}) == 1.0);
  CHECK(read(3, float{}) == 0.2F);
  CHECK(read(5, double{}) == 0.1);
  CHECK(read(6, bool{}));
  CHECK(read(7, std::int16_t{}) == -3);
  CHECK(read(8, std::uint16_t{}) == 0x3E00);
}

TEST_CASE("a module that does not fit its specification is told so") {
  if (without_nvrtc()) return;
  const auto fault = [](const std::string& source) -> std::string {
    const auto module = compiled(source);
    REQUIRE_FALSE(module.failure);
    try {
      (void)cuda::plan_for(module, matrix(2, 2, DType::float32), {});
    } catch (const cuda::SpecificationFault& error) {
      return error.what();
    }
    return "none";
  };
  CHECK_THAT(fault("//! launch k<<<1, 1>>>()\n__global__ void k(int n) {}\n"),
             ContainsSubstring("no kernel 'k'") && ContainsSubstring("_Z1ki"));
  CHECK_THAT(fault("//! launch k<<<1, 1>>>(x)\nextern \"C\" __global__ void k(float* x, int n) {}"),
             ContainsSubstring("takes 2 arguments and gets 1"));
  CHECK_THAT(fault("//! launch k<<<1, 1>>>(1, 2)\n"
                   "extern \"C\" __global__ void k(int a, float* b) {}"),
             ContainsSubstring("has 4 bytes and the kernel's parameter 8"));
  CHECK_THAT(fault("//! launch k<<<1, 1>>>(0.5)\nextern \"C\" __global__ void k(int a) {}"),
             ContainsSubstring("a real number, and the kernel's parameter an integer"));
  CHECK(
      fault("//! launch k<<<1, 1>>>(1, 2: int64, 0.5, null, 1.5: float64)\n"
            "extern \"C\" __global__ void k(int a, long long b, float c, void* d, double e) {}") ==
      "none");
}

TEST_CASE("PTX becomes a plan that the audit accepts") {
  if (without_assembler()) return;
  for (const std::string target : {"sm_80", "sm_90", "sm_100"}) {
    const auto module = assembled(scale_ptx, target);
    INFO(module.record.log);
    REQUIRE_FALSE(module.failure);
    CHECK(cubin_target(module.cubin.bytes) == (target == "sm_80" ? target : target + "a"));
    const auto signature = matrix(3, 50, DType::float32);
    const auto plan = cuda::plan_for(module, signature, {{"n", 150}});
    PlanRules rules;
    rules.signature = signature;
    CHECK(audit(plan, rules).empty());
    CHECK(plan.language == "ptx");
    CHECK(std::get<KernelLaunch>(plan.launches.at(0)).grid[0] == 2);
  }
}

TEST_CASE("PTX that the assembler does not take is the candidate's fault") {
  if (without_assembler()) return;
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string source = scale_ptx;
    return source.replace(source.find(from), from.size(), to);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{".version 7.0", ".version 99.0"},
                                                        {".target sm_80", ".target sm_100"},
                                                        {".target sm_80", ".target sm_90a"},
                                                        {".version 7.0\n", ""},
                                                        {"add.f32", "subtract.f32"},
                                                        {"ret;", "call cudaLaunchDevice;"}}) {
    const auto module = assembled(changed(from, to), "sm_80");
    CAPTURE(to);
    CHECK(failure_of(module) == "compile_error");
    CHECK_FALSE(module.record.log.empty());
  }
  const auto module = assembled(changed("add.f32", "subtract.f32"));
  CHECK_THAT(module.record.log, ContainsSubstring("line 24"));
}

TEST_CASE("an architecture that nobody knows is not the candidate's fault") {
  const auto code = [](const std::string& language, const std::string& source,
                       const std::string& target) -> std::string {
    try {
      (void)cuda::compile_cuda({source, "test", language}, DType::float32, target, {}, {}, {});
    } catch (const Error& error) {
      UNSCOPED_INFO(error.what());
      return std::string(to_string(error.code()));
    }
    return "none";
  };
  for (const std::string target : {"", "sm_", "90", "sm_9x", "sm_90 -I/", "compute_90"}) {
    CHECK(code("cuda", softmax, target) == "invalid_argument");
  }
  CHECK(code("cpp", softmax, "sm_90") == "invalid_argument");
  if (!without_nvrtc()) CHECK(code("cuda", softmax, "sm_30") == "unsupported");
  if (!without_assembler()) CHECK(code("ptx", scale_ptx, "sm_30") == "unsupported");
}

TEST_CASE("an NVRTC that is none is the machine's fault") {
  const ouroboros_test::Folder folder;
  std::filesystem::create_directory(folder.path() / "lib");
  const auto library = folder.path() / "lib" / "libnvrtc.so.13";
  std::ofstream(library) << "no library\n";
  CHECK(cuda::find_toolkit({library}).nvrtc == std::filesystem::canonical(library));
  CHECK(cuda::find_toolkit({folder.path()}).nvrtc == std::filesystem::canonical(library));
  try {
    (void)cuda::compile_cuda({softmax, "test", "cuda"}, DType::float32, "sm_90", {}, {}, {},
                             {folder.path()});
    FAIL("a text was taken for a library");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::compiler_missing);
    CHECK_THAT(error.what(), ContainsSubstring("libnvrtc.so.13 cannot be loaded"));
  }
}

TEST_CASE("a cancelled CUDA compilation leaves nothing") {
  if (without_nvrtc()) return;
  const ouroboros_test::Folder scratch;
  const auto cancelled = [] { return true; };
  CHECK_THROWS_AS(cuda::compile_cuda({softmax, "test", "cuda"}, DType::float32, "sm_90", {},
                                     scratch.path(), cancelled),
                  Error);
  CHECK(scratch.empty());
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("the page's examples compile and launch what they say") {
  if (without_nvrtc() || without_assembler()) return;
  std::ifstream page(OUROBOROS_SOURCE_DIR "/docs/launch-specification.md");
  std::string source;
  std::string language;
  int examples = 0;
  for (std::string line; std::getline(page, line);) {
    if (language.empty()) {
      if (line == "```cuda" || line == "```ptx") language = line.substr(3);
      continue;
    }
    if (line != "```") {
      source += line + "\n";
      continue;
    }
    const auto dtype = language == "ptx" ? DType::float32 : DType::bfloat16;
    const auto module =
        cuda::compile_cuda({source, "example", language}, dtype, "sm_90", {}, {}, {});
    CAPTURE(source.substr(0, 80), module.record.log);
    REQUIRE_FALSE(module.failure);
    auto signature = matrix(7, 300, dtype);
    if (source.find("weight") != std::string::npos) {
      signature.insert(signature.begin() + 1,
                       {"weight", PlanRole::input, 300 * size_of(dtype), dtype, {300}, {1}, {}});
    }
    const auto plan = cuda::plan_for(module, signature, {{"rows", 7}, {"cols", 300}});
    PlanRules rules;
    rules.signature = signature;
    CHECK(audit(plan, rules).empty());
    CHECK_FALSE(plan.launches.empty());
    source.clear();
    language.clear();
    ++examples;
  }
  CHECK(examples == 3);
}

TEST_CASE("a staggered program sleeps where a kernel begins and after what waits for others") {
  const std::string head = ".version 9.0\n.target sm_90\n.visible .entry k(.param .u64 p)\n{\n";
  const auto naps = [&](const std::string& body) {
    const auto text = cuda::staggered(head + body + "\n}\n");
    std::size_t count = 0;
    for (auto at = text.find("nanosleep"); at != std::string::npos;
         at = text.find("nanosleep", at + 1)) {
      ++count;
    }
    return count - 2;  // The kernel's own two.
  };
  for (const std::string wait :
       {"bar.sync 0;", "barrier.sync 0;", "barrier.cta.sync.aligned 0;",
        "bar.red.popc.u32 %r1, 0, %p1;", "@%p1 bar.sync 1, 64;", "@!%p1 bar.sync 1, 64;",
        "AGAIN: bar.sync 0;", "$L_1: A: @p bar.sync 0;", "barrier.cluster.wait.aligned;",
        "cp.async.wait_group 0;", "cp.async.bulk.wait_group.read 0;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", "/* one */ bar.sync 0; // two",
        "{ bar.sync 0; }", "{ .reg .b32 a; mov.b64 {a, %r1}, %rd1; bar.sync 0; }"}) {
    INFO(wait);
    CHECK(naps(wait) == 1);
    CHECK(naps(wait + "\n" + wait) == 2);
  }
  for (const std::string other :
       {"bar.arrive 0, 64;", "bar.warp.sync -1;", "barrier.cluster.arrive;", "// bar.sync 0;",
        "/* bar.sync 0; */", ".pragma \"bar.sync 0;\";", "mov.u32 bar, 0;", "ret;",
        "mbarrier.arrive.shared::cta.b64 _, [%r1];", "cp.async.commit_group;"}) {
    INFO(other);
    CHECK(naps(other) == 0);
  }
  for (const std::string odd :
       {"", "{", "}", ";", "\"", "/*", "//", "@", ":", "bar.sync", "}}}{{{;"}) {
    CHECK(cuda::staggered(odd) == odd);
  }
  const std::string device = ".func f()\n{\nbar.sync 0;\nret;\n}\n";
  CHECK_THAT(cuda::staggered(device), ContainsSubstring("bar.sync 0;\n{"));
  CHECK_THAT(cuda::staggered(device), !ContainsSubstring("50000"));
}

TEST_CASE("an assembler takes staggered programs, of any module") {
  if (without_nvrtc() || without_assembler()) return;
  const auto barrier = kernel("",
                              "__shared__ float s[32]; s[threadIdx.x] = out[threadIdx.x];"
                              "for (int i = 0; i < 9; ++i) { __syncthreads();"
                              "out[i * 32 + threadIdx.x] = s[31 - threadIdx.x]; }");
  for (const auto& module :
       {compiled(barrier), compiled(barrier, "sm_80"), compiled(softmax), assembled(scale_ptx)}) {
    REQUIRE_FALSE(module.failure);
    const auto image = cuda::assemble_staggered(module, {}, {}, {});
    REQUIRE(image.has_value());
    CHECK(image->sha256 != module.cubin.sha256);
    CHECK(cubin_target(image->bytes) == cubin_target(module.cubin.bytes));
    CHECK(kernel_resources(image->bytes).at(0).function == module.record.entries.at(0));
  }
  auto broken = compiled(softmax);
  broken.ptx = "no PTX";
  CHECK_FALSE(cuda::assemble_staggered(broken, {}, {}, {}).has_value());
}
