// Launch specifications: what they say, what they cannot say, and what they do to hostile input.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "catch.hpp"
#include "compile/cuda/cuda.hpp"
#include "compile/cuda/evaluate.hpp"

using namespace ouroboros;
using cuda::CudaModule;
using cuda::SpecificationFault;

namespace {

/// A module without code, whose kernels take the parameters given as (offset, size).
CudaModule module_of(const std::string& source, DType dtype = DType::float32) {
  CudaModule module;
  module.language = "cuda";
  module.target = "sm_90";
  module.dtype = dtype;
  module.cubin.bytes = {std::byte{1}};
  module.cubin.sha256 = sha256_hex(module.cubin.bytes.data(), 1);
  module.specification = cuda::parse_specification(source);
  KernelResources none;
  none.function = "none";
  KernelResources one;
  one.function = "one";
  one.parameters = {{0, 4}};
  KernelResources copy;
  copy.function = "copy";
  copy.parameters = {{0, 8}, {8, 8}, {16, 4}};
  KernelResources wide = copy;
  wide.function = "copy_float16";
  wide.parameters = {{0, 8}, {8, 4}, {16, 8}};
  KernelResources tiled;
  tiled.function = "tiled";
  tiled.parameters = {{0, 8}, {48, 128}};
  module.kernels = {none, one, copy, wide, tiled};
  for (auto& kernel : module.kernels) {
    for (const auto& field : kernel.parameters) kernel.parameter_bytes = field.offset + field.size;
  }
  return module;
}

std::vector<PlanBuffer> signature(DType dtype = DType::float32) {
  const std::uint64_t bytes = 6 * 10 * size_of(dtype);
  return {{"x", PlanRole::input, bytes, dtype, {6, 10}, {10, 1}, {}},
          {"out", PlanRole::output, bytes, dtype, {6, 10}, {10, 1}, {}}};
}

const std::map<std::string, std::int64_t> axes = {{"rows", 6}, {"cols", 10}};

LaunchPlan planned(const std::string& source, DType dtype = DType::float32) {
  return cuda::plan_for(module_of(source, dtype), signature(dtype), axes);
}

/// What is wrong with a specification; empty when nothing is.
std::string fault_of(const std::string& source, DType dtype = DType::float32) {
  try {
    (void)planned(source, dtype);
  } catch (const SpecificationFault& fault) {
    return fault.what();
  }
  return "";
}

/// The value of an expression, by way of a kernel's argument.
std::int64_t value_of(const std::string& expression) {
  const auto specification = cuda::parse_specification("//! let answer = " + expression);
  cuda::Scope scope;
  scope.numbers = {axes.begin(), axes.end()};
  scope.buffers["x"] = {0, cuda::ElementType::float32, 240, {6, 10}, {10, 1}};
  return cuda::evaluate(std::get<cuda::Let>(specification.statements.at(0).what).value, scope);
}

template <typename T>
T read(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

const KernelLaunch& kernel(const LaunchPlan& plan, std::size_t index) {
  REQUIRE(index < plan.launches.size());
  return std::get<KernelLaunch>(plan.launches[index]);
}

}  // namespace

TEST_CASE("expressions are those of arithmetic") {
  CHECK(value_of("1 + 2 * 3 - 4") == 3);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("10 - 3 - 2") == 5);
  CHECK(value_of("100 / 7 / 2") == 7);
  CHECK(value_of("-7 / 2") == -4);  // Rounds down, whatever the signs.
  CHECK(value_of("7 / -2") == -4);
  CHECK(value_of("-7 % 4") == 1);
  CHECK(value_of("7 % -4") == -1);
  CHECK(value_of("--3") == 3);
  CHECK(value_of("0x10") == 16);
  CHECK(value_of("rows * cols") == 60);
  CHECK(value_of("min(rows, cols, 3)") == 3);
  CHECK(value_of("max(rows, cols)") == 10);
  CHECK(value_of("cdiv(cols, 4)") == 3);
  CHECK(value_of("cdiv(8, 4)") == 2);
  CHECK(value_of("cdiv(-7, 2)") == -3);
  CHECK(value_of("next_pow2(cols)") == 16);
  CHECK(value_of("next_pow2(16)") == 16);
  CHECK(value_of("next_pow2(0)") == 1);
  CHECK(value_of("sizeof(float16) + sizeof(dtype)") == 6);
  CHECK(value_of("x.shape[0] * 1000 + x.shape[-1] * 10 + x.stride[1]") == 6101);
  CHECK(value_of("x.elements + x.bytes") == 300);
  CHECK(value_of("rows < cols and not (rows == cols) or 1 / 0") == 1);
  CHECK(value_of("rows >= cols and 1 / 0") == 0);
  CHECK(value_of("(rows != 6) + (cols <= 10) * 2") == 2);
}

TEST_CASE("division rounds down and cdiv up for every pair of numbers") {
  std::mt19937_64 random(7);
  const auto draw = [&random] {
    return static_cast<std::int64_t>(random()) >> (2 + random() % 60);
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t a = draw();
    const std::int64_t b = draw();
    if (b == 0) continue;
    const auto text = [](std::int64_t value) { return "(" + std::to_string(value) + ")"; };
    const std::int64_t down = value_of(text(a) + " / " + text(b));
    const std::int64_t rest = value_of(text(a) + " % " + text(b));
    CAPTURE(a, b, down, rest);
    CHECK(down * b + rest == a);
    CHECK((rest == 0 || (rest < 0) == (b < 0)));
    CHECK((rest < 0 ? -rest : rest) < (b < 0 ? -b : b));
    CHECK(value_of("cdiv(" + text(a) + "," + text(b) + ")") == down + (rest != 0 ? 1 : 0));
  }
}

TEST_CASE("arithmetic that leaves 64 bits is a fault with its place") {
  const auto fault = [](const std::string& expression) {
    return fault_of("\n  //! let a = " + expression);
  };
  CHECK_THAT(fault("0x7fffffffffffffff + 1"),
             ContainsSubstring("line 2, column 34") && ContainsSubstring("'+' overflows"));
  CHECK_THAT(fault("-0x7fffffffffffffff - 2"), ContainsSubstring("'-' overflows"));
  CHECK_THAT(fault("4294967296 * 4294967296"), ContainsSubstring("'*' overflows"));
  CHECK_THAT(fault("-(-0x7fffffffffffffff - 1)"), ContainsSubstring("overflows"));
  CHECK_THAT(fault("(-0x7fffffffffffffff - 1) / -1"), ContainsSubstring("overflows"));
  CHECK(value_of("(-0x7fffffffffffffff - 1) % -1") == 0);
  CHECK_THAT(fault("next_pow2(0x4000000000000001)"), ContainsSubstring("overflows"));
  CHECK_THAT(fault("rows / (rows - 6)"), ContainsSubstring("divides by zero"));
  CHECK_THAT(fault("rows % 0"), ContainsSubstring("divides by zero"));
  CHECK_THAT(fault("cdiv(rows, 0)"), ContainsSubstring("divides by zero"));
  CHECK_THAT(fault("99999999999999999999"), ContainsSubstring("no integer of 64 bits"));
}

TEST_CASE("every kind of statement reaches the plan") {
  const auto plan = planned(R"(
//! let blocks = cdiv(cols, 4)
//! scratch partial: float32[rows, blocks]
//! state table: int32[2] = [7, -1]
//! memset partial = -inf
//! copy out = x
//! launch copy<<<(blocks, rows), (32, 2), cluster = (1, 2), shared = 4 * cols, cooperative>>>(
//!     x, &out[cols], -1)
//! launch one<<<1, 1, 2 * cols, cooperative>>>(1.5)
)");
  REQUIRE(plan.buffers.size() == 4);
  CHECK(plan.origin == PlanOrigin::specification);
  CHECK(plan.buffers[2].role == PlanRole::scratch);
  CHECK(plan.buffers[2].bytes == 6 * 3 * 4);
  CHECK(plan.buffers[3].role == PlanRole::state);
  REQUIRE(plan.buffers[3].image == 1);
  CHECK(read<std::int32_t>(plan.images[1].bytes, 0) == 7);
  CHECK(read<std::int32_t>(plan.images[1].bytes, 4) == -1);

  REQUIRE(plan.launches.size() == 4);
  const auto& memset = std::get<MemsetLaunch>(plan.launches[0]);
  CHECK((memset.target.buffer == 2 && memset.width == 4 && memset.count == 18));
  CHECK(memset.value == 0xFF800000U);
  const auto& copy = std::get<CopyLaunch>(plan.launches[1]);
  CHECK((copy.target.buffer == 1 && copy.source.buffer == 0 && copy.bytes == 240));

  const auto& launch = kernel(plan, 2);
  CHECK(launch.function == "copy");
  CHECK(launch.grid == Dim3{3, 6, 1});
  CHECK(launch.block == Dim3{32, 2, 1});
  CHECK(launch.cluster == Dim3{1, 2, 1});
  CHECK(launch.shared_bytes == 40);
  CHECK(kernel(plan, 3).shared_bytes == 20);
  CHECK((launch.cooperative && kernel(plan, 3).cooperative));
  REQUIRE(launch.parameters.size() == 20);
  REQUIRE(launch.pointers.size() == 2);
  CHECK((launch.pointers[0].at == 0 && launch.pointers[0].target.buffer == 0));
  CHECK((launch.pointers[1].at == 8 && launch.pointers[1].target.buffer == 1));
  CHECK(launch.pointers[1].target.offset == 40);
  CHECK(read<std::int32_t>(launch.parameters, 16) == -1);
  CHECK(read<float>(kernel(plan, 3).parameters, 0) == 1.5F);

  PlanRules rules;
  rules.signature = signature();
  const auto bytes = plan.serialise();
  CHECK(LaunchPlan::parse(bytes).serialise() == bytes);

  // One value for all, and extents as CUDA writes them.
  const auto other = planned(
      "//! state t: int32[3] = rows + 1\n"
      "//! launch copy<<<dim3(2, 3), dim3(32)>>>(t, out, 1)");
  REQUIRE(other.images.size() == 2);
  CHECK(other.images[1].bytes.size() == 12);
  CHECK(read<std::int32_t>(other.images[1].bytes, 8) == 7);
  CHECK(kernel(other, 0).grid == Dim3{2, 3, 1});
  CHECK(kernel(other, 0).block == Dim3{32, 1, 1});
}

TEST_CASE("real arguments are computed as host code would") {
  const auto value = [](const std::string& expression) {
    const auto plan = planned(
        "//! let half = 0.5f\n//! let scale = half / sqrt(cols)\n"
        "//! launch one<<<1, 1>>>(" +
        expression + ");");
    return read<float>(kernel(plan, 0).parameters, 0);
  };
  CHECK(value("1.0 / cols") == 0.1F);
  CHECK(value("1 / sqrt(x.shape[0] + 3)") == 1.0F / 3);
  CHECK(value("scale") == static_cast<float>(0.5 / std::sqrt(10.0)));
  CHECK(value("-min(half, 1, 2.5) * 4") == -2.0F);
  CHECK(value("max(rows / 4, 0.25)") == 1.0F);  // Without a real number: rounded down.
  CHECK(value("-inf") == -std::numeric_limits<float>::infinity());
  CHECK(value("1e-6f") == 1e-6F);
  CHECK(std::isinf(value("1.0 / (rows - 6)")));  // Where a tensor is empty nothing is launched.

  const auto fault = [](const std::string& line) {
    return fault_of("//! let half = 0.5\n//! " + line);
  };
  const std::string integer = "is no integer, and one is needed here";
  CHECK_THAT(fault("launch none<<<half * 4, 1>>>()"), ContainsSubstring("'half' " + integer));
  CHECK_THAT(fault("launch none<<<sqrt(4), 1>>>()"), ContainsSubstring("'sqrt' " + integer));
  CHECK_THAT(fault("let a = cdiv(cols, 2.0)"), ContainsSubstring("'2.0' " + integer));
  CHECK_THAT(fault("let a = 7.0 % 2"), ContainsSubstring("'7.0' " + integer));
  CHECK_THAT(fault("if half: launch none<<<1, 1>>>()"), ContainsSubstring(integer));
  CHECK_THAT(fault("let a = half < 1"), ContainsSubstring(integer));
  CHECK_THAT(fault("let a = not half"), ContainsSubstring(integer));
  CHECK_THAT(fault("let a = x.shape[half]"), ContainsSubstring(integer));
  CHECK_THAT(fault("let half = 1"), ContainsSubstring("already names"));
  // What one branch calls a real number may be an integer in the other.
  const auto plan = planned(
      "//! if rows > 7: let a = 0.5\n//! else: let a = 3\n"
      "//! launch one<<<1, 1>>>(a * 0.5)");
  CHECK(read<float>(kernel(plan, 0).parameters, 0) == 1.5F);
}

TEST_CASE("numbers are passed as the kernel declares its parameters") {
  auto module = module_of(
      "//! launch typed<<<1, 1>>>(rows, rows, rows: int64, cols / 3.0, rows, rows: int32)");
  KernelResources typed;
  typed.function = "typed";
  typed.parameters = {{0, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 4}, {36, 4}};
  typed.parameter_bytes = 40;
  module.kernels.push_back(typed);
  using enum cuda::ParameterKind;
  module.parameter_kinds["typed"] = {real, real, integer, real, other, real};
  const auto plan = cuda::plan_for(module, signature(), axes);
  const auto& bytes = kernel(plan, 0).parameters;
  CHECK(read<float>(bytes, 0) == 6.0F);
  CHECK(read<double>(bytes, 8) == 6.0);
  CHECK(read<std::int64_t>(bytes, 16) == 6);
  CHECK(read<double>(bytes, 24) == 10.0 / 3);
  CHECK(read<std::int32_t>(bytes, 32) == 6);
  CHECK(read<std::int32_t>(bytes, 36) == 6);  // A type that is stated holds.

  const auto fault = [](const std::string& argument, cuda::ParameterKind kind) {
    auto one = module_of("//! launch one<<<1, 1>>>(" + argument + ")");
    one.parameter_kinds["one"] = {kind};
    try {
      (void)cuda::plan_for(one, signature(), axes);
    } catch (const SpecificationFault& found) {
      return std::string(found.what());
    }
    return std::string();
  };
  const auto narrow = [](const std::string& argument, std::uint32_t size) {
    auto one = module_of("//! launch one<<<1, 1>>>(" + argument + ")");
    one.parameter_kinds["one"] = {integer};
    for (auto& each : one.kernels) {
      if (each.function == "one") each.parameters = {{0, size}};
    }
    const auto made = cuda::plan_for(one, signature(), axes);
    const auto& found = kernel(made, 0).parameters;
    return size == 1 ? std::int64_t{read<std::int8_t>(found, 0)} : read<std::int16_t>(found, 0);
  };
  CHECK(narrow("true", 1) == 1);
  CHECK(narrow("rows == cols", 1) == 0);
  CHECK(narrow("255", 1) == -1);
  CHECK(narrow("-128", 1) == -128);
  CHECK(narrow("-300", 2) == -300);
  CHECK_THROWS_WITH(narrow("256", 1), ContainsSubstring("256 does not fit into a parameter of 1"));
  CHECK_THROWS_WITH(narrow("-32769", 2), ContainsSubstring("a parameter of 2 bytes"));
  CHECK_THAT(fault("1.0", integer), ContainsSubstring("column 26: this is a real number, and"));
  CHECK(fault("1.0", other).empty());
  CHECK_THAT(fault("16777216 * 16777216", integer), ContainsSubstring("does not fit into int32"));
}

TEST_CASE("PTX says what its kernels' parameters are") {
  using enum cuda::ParameterKind;
  const auto kinds = cuda::parameter_kinds(
      ".visible .entry first(  // .entry not(.param .f32 a)\n"
      "  .param .u64 .ptr .global .align 16 first_param_0,\n"
      "  .param .u64 first_param_1, /* .param .u64 gone, */ .param .f32 c,\n"
      "  .param .align 2 .b8 d[2], .param .s16 e, .param .f64 f\n)\n{ ret; }\n"
      ".entry bare { call (x), f, (y); }\n.entry none() { ret; }\n.weak .entry last(.param .b32 "
      "x)");
  REQUIRE(kinds.size() == 3);
  CHECK(kinds.at("first") == std::vector{integer, integer, real, other, integer, real});
  CHECK(kinds.at("none").empty());
  CHECK(kinds.at("last") == std::vector{other});
  CHECK(cuda::parameter_kinds("/* .entry open(").empty());
  CHECK(cuda::parameter_kinds(".entry open(.param .u64 a").empty());
}

TEST_CASE("conditions, alternatives and loops choose launches") {
  const auto functions = [](const std::string& source) {
    std::string text;
    for (const auto& launch : planned(source).launches) {
      text += std::get<KernelLaunch>(launch).function + " ";
    }
    return text;
  };
  CHECK(functions("//! if rows < cols: launch none<<<1, 1>>>()\n"
                  "//! else: launch one<<<1, 1>>>(1)\n") == "none ");
  CHECK(functions("//! if rows > cols: launch none<<<1, 1>>>()\n"
                  "//! else: if cols > 64: launch none<<<1, 1>>>()\n"
                  "//! else: launch one<<<1, 1>>>(1)\n") == "one ");
  // Several statements, as Python or C++ would have them.
  const std::string blocks =
      "//! if rows > cols:\n"
      "//!   launch none<<<1, 1>>>()\n"
      "//!   if cols > 1:\n"
      "//!     launch none<<<2, 1>>>()\n"
      "//!   else:\n"
      "//!     launch none<<<3, 1>>>()\n"
      "//! elif rows == 6:\n"
      "//!   for i in range(2):\n"
      "//!     launch one<<<1, 1>>>(i)\n"
      "//!     launch none<<<4, 1>>>()\n"
      "//!   launch one<<<1, 1>>>(2)\n"
      "//! else: launch none<<<5, 1>>>()\n"
      "//! launch copy<<<1, 1>>>(x, out, 1)\n";
  CHECK(functions(blocks) == "one none one none one copy ");
  const auto with_rows = [](std::string text, const std::string& condition) {
    return text.replace(text.find("rows == 6"), 9, condition);
  };
  CHECK(functions(with_rows(blocks, "rows == 7")) == "none copy ");
  const std::string braces =
      "//! if (rows > cols) { launch none<<<1, 1>>>(); } else if (rows == 6) {\n"
      "//!   for i in range(2) { launch one<<<1, 1>>>(i); if (i) { launch none<<<1, 1>>>() } else\n"
      "//!     { launch copy<<<1, 1>>>(x, out, i); } }\n"
      "//! } else { launch copy<<<1, 1>>>(x, out, 2); launch none<<<1, 1>>>(); }\n"
      "//! launch none<<<1, 1>>>()";
  CHECK(functions(braces) == "one copy one none none ");
  CHECK(functions(with_rows(braces, "rows == 7")) == "copy none none ");
  // An `else` belongs to the `if` that it stands below, not to one inside.
  CHECK(functions("//! if rows > cols: launch none<<<1, 1>>>()\n"
                  "//! else:\n"
                  "//!   if cols > 64:\n"
                  "//!     launch none<<<1, 1>>>()\n"
                  "//!   else:\n"
                  "//!     launch one<<<1, 1>>>(1)\n") == "one ");
  const auto plan = planned("//! for i in range(2, 5): if i != 3: launch one<<<i, 1>>>(i * i)\n");
  REQUIRE(plan.launches.size() == 2);
  CHECK(kernel(plan, 0).grid[0] == 2);
  CHECK(read<std::int32_t>(kernel(plan, 1).parameters, 0) == 16);
  // The name ends with the loop.
  CHECK_THAT(fault_of("//! for i in range(2): launch none<<<1, 1>>>()\n//! let a = i"),
             ContainsSubstring("'i' is unknown"));
  // On an empty tensor there is nothing to launch.
  CHECK(planned("//! launch none<<<rows - 6, 1>>>()").launches.empty());
}

TEST_CASE("a tensor map describes a buffer, or what it is told") {
  const auto plan = planned(
      "//! launch tiled<<<1, 1>>>(out, tensor_map(x, box = (4, 2), swizzle = 64))\n"
      "//! launch tiled<<<1, 1>>>(null, tensor_map(&x[20], sizes = (5, 2, 2), strides = (4, 10),\n"
      "//!     box = (5, 1, 1), element_strides = (1, 1, 2), interleave = 16, l2_promotion = 256,\n"
      "//!     fill = nan))\n",
      DType::float64);
  const auto& first = kernel(plan, 0);
  REQUIRE(first.parameters.size() == 176);
  REQUIRE(first.tensor_maps.size() == 1);
  const auto& map = first.tensor_maps[0];
  CHECK((map.at == 48 && map.target.buffer == 0 && map.target.offset == 0 && map.data_type == 8));
  CHECK(map.sizes == std::vector<std::uint64_t>{10, 6});
  CHECK(map.strides_bytes == std::vector<std::uint64_t>{80});
  CHECK(map.box == std::vector<std::uint32_t>{4, 2});
  CHECK(map.element_strides == std::vector<std::uint32_t>{1, 1});
  CHECK((map.swizzle == 2 && map.interleave == 0 && map.l2_promotion == 0 && map.oob_fill == 0));
  const auto& second = kernel(plan, 1).tensor_maps.at(0);
  CHECK(kernel(plan, 1).pointers.empty());
  CHECK(second.target.offset == 160);
  CHECK(second.strides_bytes == std::vector<std::uint64_t>{32, 80});
  CHECK(second.element_strides == std::vector<std::uint32_t>{1, 1, 2});
  CHECK((second.interleave == 1 && second.l2_promotion == 3 && second.oob_fill == 1));

  const auto fault = [](const std::string& map_text) {
    return fault_of("//! launch tiled<<<1, 1>>>(x, tensor_map(" + map_text + "))");
  };
  CHECK_THAT(fault("x"), ContainsSubstring("0 extents of its box"));
  CHECK_THAT(fault("x, box = (1, 2, 3, 4, 5, 6)"), ContainsSubstring("at most 5"));
  CHECK_THAT(fault("x, box = (4, -2)"), ContainsSubstring("cannot hold -2"));
  CHECK_THAT(fault("x, box = (4, 2), swizzle = 65"), ContainsSubstring("65 bytes"));
  CHECK_THAT(fault("x, box = (4, 2), colour = 1"), ContainsSubstring("'colour' is no option"));
  CHECK_THAT(fault("y, box = (4, 2)"), ContainsSubstring("no buffer 'y'"));
}

TEST_CASE("one source serves every dtype") {
  const std::string source =
      "//! scratch copy_of_x: dtype[x.elements]\n"
      "//! launch copy_{dtype}<<<1, sizeof(dtype)>>>(copy_of_x, 2: int32, 3: int64)\n";
  const auto plan = planned(source, DType::float16);
  CHECK(plan.buffers[2].bytes == 120);
  const auto& launch = kernel(plan, 0);
  CHECK(launch.function == "copy_float16");
  CHECK(launch.block[0] == 2);
  // The kernel declares a gap before its last parameter.
  REQUIRE(launch.parameters.size() == 24);
  CHECK(read<std::int64_t>(launch.parameters, 16) == 3);
  CHECK_THAT(fault_of(source), ContainsSubstring("no kernel 'copy_float32'"));
  CHECK(cuda::parse_specification("//! dtypes float16, bfloat16").dtypes ==
        std::vector<DType>{DType::float16, DType::bfloat16});
}

TEST_CASE("a specification stands anywhere in a source and is taken from nowhere else") {
  const auto plan = planned(
      "// launch nothing\n/// launch nothing\nint x; //! launch nothing\r\n"
      "\t//! launch none<<<1, 1>>>()\r\n//!\n//!launch none<<<2,1>>>()");
  CHECK(plan.launches.size() == 2);
  CHECK(planned("\xEF\xBB\xBF//! launch none<<<1, 1>>>()").launches.size() == 1);
}

TEST_CASE("faults name their place and what to do") {
  const auto fault = [](const std::string& line) { return fault_of("//! " + line); };
  CHECK_THAT(fault("launch nothing<<<1, 1>>>()"),
             ContainsSubstring("line 1, column 5: ") && ContainsSubstring("no kernel 'nothing'") &&
                 ContainsSubstring("copy_float16") && ContainsSubstring("extern \"C\""));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, out)"),
             ContainsSubstring("takes 3 arguments and gets 2"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, out, cols: int64)"),
             ContainsSubstring("column 35") && ContainsSubstring("argument 3") &&
                 ContainsSubstring("has 8 bytes and the kernel's parameter 4"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, cols, out)"), ContainsSubstring("argument 2"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(4294967296)"),
             ContainsSubstring("4294967296 does not fit into int32"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(-1: uint32)"), ContainsSubstring("does not fit"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(1e39)"), ContainsSubstring("does not fit into float32"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(1.5: int32)"), ContainsSubstring("1.5 is no int32"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(y)"),
             ContainsSubstring("'y' is unknown") && ContainsSubstring("cols, rows"));
  CHECK_THAT(fault("let half = 0.5\n//! launch one<<<1, 1>>>(y)"),
             ContainsSubstring("cols, rows, and the real numbers half"));
  CHECK_THAT(fault("launch one<<<1, 1>>>(&y[0])"), ContainsSubstring("no buffer 'y'"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, &out[61], 1)"), ContainsSubstring("outside of 'out'"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, &out[-1], 1)"), ContainsSubstring("outside of 'out'"));
  CHECK_THAT(fault("launch none<<<x, 1>>>()"), ContainsSubstring("is a buffer and no number"));
  CHECK_THAT(fault("launch none<<<-1, 1>>>()"), ContainsSubstring("grid's extent 0 is -1"));
  CHECK_THAT(fault("launch none<<<1, 0>>>()"), ContainsSubstring("block's extent 0 is 0"));
  CHECK_THAT(fault("launch none<<<4294967296, 1>>>()"), ContainsSubstring("4294967296"));
  CHECK_THAT(fault("launch none<<<(1, 1, 1, 1), 1>>>()"), ContainsSubstring("at most 3"));
  CHECK_THAT(fault("launch none<<<1, 1, shared = -4>>>()"), ContainsSubstring("-4 bytes"));
  CHECK_THAT(fault("launch none<<<1, 1, stream = 4>>>()"),
             ContainsSubstring("'stream' is no option"));
  CHECK_THAT(fault("launch none<<<1, 1, shared = 1, shared = 2>>>()"), ContainsSubstring("once"));
  CHECK_THAT(fault("launch none<<<1, 1, 4, 0>>>()"), ContainsSubstring("there are no streams"));
  CHECK_THAT(fault("let a = cols // 2"), ContainsSubstring("'/' rounds down"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, out, cols: int64)"),
             ContainsSubstring("has 8 bytes and the kernel's parameter 4: say its type"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, cols, out)"),
             ContainsSubstring("a buffer's address, or a number with its type"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, tensor_map(x, box = (1, 1), strides = 12), 1)"),
             ContainsSubstring("'const __grid_constant__ CUtensorMap'"));
  CHECK_THAT(fault("launch tiled<<<1, 1>>>(x, tensor_map(x, box = (1, 1)))"),
             ContainsSubstring("column 31: a tensor map of 'x' has a stride of 40 bytes") &&
                 ContainsSubstring("multiples of 16"));
  CHECK_THAT(fault("launch none<<<ceil_div(rows, 2), 1>>>()"),
             ContainsSubstring("found '(': of functions there are min, max, cdiv"));
  CHECK_THAT(fault("let a = abs(rows)"), ContainsSubstring("of functions there are"));
  CHECK_THAT(fault("if rows && cols: let a = 1"), ContainsSubstring("write 'and' for '&&'"));
  CHECK_THAT(fault("if rows || cols: let a = 1"), ContainsSubstring("write 'or' for '||'"));
  CHECK_THAT(fault("let a = rows > 1 ? 2 : 3"), ContainsSubstring("there is no '?'"));
  CHECK_THAT(fault("launch one<<<1, 1>>>((int)(rows * cols))"), ContainsSubstring("no casts"));
  CHECK_THAT(fault("launch one<<<1, 1>>>((const float*)x)"), ContainsSubstring("no casts"));
  CHECK(fault("let half = 3\n//! let a = (half) * 2 + (half and 1) and (half)").empty());
  CHECK_THAT(fault("launch none<<<cdiv(cols, THREADS), 1>>>()"),
             ContainsSubstring("'THREADS' is unknown") &&
                 ContainsSubstring("macros and constants of the code are not seen"));
  CHECK_THAT(fault("for i in range(0, 4, 0): let a = i"), ContainsSubstring("no step of 0"));
  CHECK_THAT(fault("let a = 18446744073709551615"), ContainsSubstring("a value of uint64"));
  CHECK_THAT(fault("let a = 18446744073709551616"), ContainsSubstring("no integer of 64 bits"));
  CHECK_THAT(fault("state s: int64[1] = [0xffffffffffffffff]"),
             ContainsSubstring("beyond what int64 holds"));
  CHECK_THAT(fault("launch none<<<1>>>()"), ContainsSubstring("expected ',' and found '>>>'"));
  CHECK_THAT(fault("launch none<<<1, 1>>>() x"), ContainsSubstring("should end before 'x'"));
  CHECK_THAT(fault("launch no ne<<<1, 1>>>()"), ContainsSubstring("expected '<<<' and found 'ne'"));
  CHECK_THAT(fault("launch none<<<(1 + 2, 1"), ContainsSubstring("column 19: the '('"));
  CHECK_THAT(fault("let a = 1)"), ContainsSubstring("closes nothing"));
  CHECK_THAT(fault("let a = 1 +"), ContainsSubstring("found the end of the statement"));
  CHECK_THAT(fault("let a = 1 < 2 < 3"), ContainsSubstring("do not chain"));
  CHECK_THAT(fault("launch none<<<1.5, 1>>>()"),
             ContainsSubstring("column 19: '1.5' is no integer"));
  CHECK_THAT(fault("let a = 1e999"), ContainsSubstring("no number that a double holds"));
  CHECK_THAT(fault("let a = 1.5x"), ContainsSubstring("no number that a double holds"));
  CHECK_THAT(fault("let a = sqrt(1, 2)"), ContainsSubstring("takes one argument, not 2"));
  CHECK_THAT(fault("let a = min(1)"), ContainsSubstring("two arguments or more, not 1"));
  CHECK_THAT(fault("let a = x.size"), ContainsSubstring("a buffer has no 'size'"));
  CHECK_THAT(fault("let a = x.shape[2]"), ContainsSubstring("'x' has 2 dimensions"));
  CHECK_THAT(fault("let a = b"), ContainsSubstring("'b' is unknown"));
  CHECK_THAT(fault("let min = 1"), ContainsSubstring("a word of the language"));
  CHECK_THAT(fault("let rows = 1"), ContainsSubstring("already names"));
  CHECK_THAT(fault("scratch x: float32[1]"), ContainsSubstring("already names"));
  CHECK_THAT(fault("scratch s: float8[1]"), ContainsSubstring("'float8' is no type"));
  CHECK_THAT(fault("scratch s: float32[rows - 7]"), ContainsSubstring("negative extent -1"));
  CHECK_THAT(fault("scratch s: float32[0x4000000000000000]"), ContainsSubstring("overflows"));
  CHECK_THAT(fault("scratch s: int8[72057594037927937]"), ContainsSubstring("bytes must be"));
  CHECK_THAT(fault("scratch " + std::string(133, 's') + ": int8[1]"),
             ContainsSubstring("at most 128 characters"));
  CHECK_THAT(fault("state s: int8[2] = [1]"), ContainsSubstring("2 elements and 1 values"));
  CHECK_THAT(fault("state s: int8[1] = [128]"), ContainsSubstring("does not fit into int8"));
  CHECK_THAT(fault("memset x = 0"), ContainsSubstring("'x' is an input"));
  CHECK_THAT(fault("memset y = 0"), ContainsSubstring("no buffer 'y': there are out, x"));
  CHECK_THAT(fault("copy out = out"), ContainsSubstring("copied to itself"));
  CHECK_THAT(fault("\\brief documentation"), ContainsSubstring("'\\' means nothing"));
  CHECK_THAT(fault("This is documentation"), ContainsSubstring("'This' begins no statement"));
  CHECK_THAT(fault("else: let a = 1"), ContainsSubstring("'else' needs an 'if'"));
  CHECK_THAT(fault("if 1: let a = 1\n//! else: dtypes float32"),
             ContainsSubstring("cannot depend"));
  CHECK_THAT(fault("if 1:\n//!   let a = 1\n//!     let b = 1"),
             ContainsSubstring("line 3, column 9") && ContainsSubstring("indented otherwise"));
  CHECK_THAT(fault("if 1:\n//! let a = 1"),
             ContainsSubstring("column 10") && ContainsSubstring("indented more than this"));
  CHECK_THAT(fault("if 0: let a = 1\n//! else:\n//!   if 0: let a = 1\n//! else: let a = 1"),
             ContainsSubstring("line 4") && ContainsSubstring("'else' needs an 'if'"));
  CHECK_THAT(fault("if 0 { }"), ContainsSubstring("expected a statement and found '}'"));
  CHECK_THAT(fault("for i in range(0x7fffffffffffffff) {}"), ContainsSubstring("a statement"));
  CHECK_THAT(fault("let a = 2 ** 5"), ContainsSubstring("no operator '**'"));
  CHECK_THAT(fault("let a = rows << 2"), ContainsSubstring("no operator '<<'"));
  CHECK_THAT(fault("launch one<float><<<1, 1>>>(1)"),
             ContainsSubstring("a template has no name") && ContainsSubstring("OUROBOROS_DTYPE"));
  CHECK_THAT(fault("launch one<<<1, 1, 0, 0>>>(1)"), ContainsSubstring("there are no streams"));
  CHECK_THAT(fault("scratch s: float[rows]"), ContainsSubstring("no type, 'float32' perhaps"));
  CHECK_THAT(fault("state s: int32[64] = [0]"), ContainsSubstring("'= VALUE' without brackets"));
  CHECK_THAT(fault("launch copy<<<1, 1>>>(x, s, 1)\n//! scratch s: float32[rows]"),
             ContainsSubstring("'s' is unknown") && ContainsSubstring("the buffers out, x") &&
                 ContainsSubstring("before what uses them"));
  CHECK_THAT(fault("if 1: dtypes float32"), ContainsSubstring("cannot depend"));
  CHECK_THAT(fault("dtypes float8"), ContainsSubstring("'float8' is no dtype"));
  CHECK_THAT(fault("let a = \xff"), ContainsSubstring("0xff"));
  CHECK_THAT(fault_of("//! memset out = 1.5", DType::float64), ContainsSubstring("halves differ"));
  CHECK_THAT(fault_of("//! memset out = 1.5", DType::float64),
             ContainsSubstring("a 'state' may have it"));
  CHECK_THAT(fault_of("//! memset out = 65520", DType::float16), ContainsSubstring("does not fit"));
  CHECK_THAT(fault_of("//! memset out = inf", DType::float8_e4m3fn),
             ContainsSubstring("does not fit into float8_e4m3fn"));
  CHECK(fault_of("//! memset out = -inf", DType::bfloat16).empty());
}

TEST_CASE("real numbers of 16 and 8 bits are the nearest ones") {
  const auto bits = [](const std::string& value, DType dtype) {
    const auto plan = planned("//! memset out = " + value, dtype);
    return std::get<MemsetLaunch>(plan.launches.at(0)).value;
  };
  CHECK(bits("1", DType::float16) == 0x3C00);
  CHECK(bits("-65504", DType::float16) == 0xFBFF);
  CHECK(bits("65519.99", DType::float16) == 0x7BFF);
  CHECK(bits("-inf", DType::float16) == 0xFC00);
  CHECK(bits("-0.0", DType::float16) == 0x8000);
  CHECK(bits("5.960464477539063e-08", DType::float16) == 1);
  CHECK(bits("2.9802322387695312e-08", DType::float16) == 0);  // A tie, to even.
  CHECK(bits("6.103515625e-05", DType::float16) == 0x0400);
  CHECK(bits("6.1e-05", DType::float16) == 0x03FF);
  CHECK(bits("2049", DType::float16) == 0x6800);  // Ties, to even.
  CHECK(bits("2051", DType::float16) == 0x6802);
  CHECK(bits("4095.5", DType::float16) == 0x6C00);  // The rounding carries.
  CHECK(bits("0.1", DType::bfloat16) == 0x3DCD);
  CHECK(bits("3.3895313892515355e38", DType::bfloat16) == 0x7F7F);
  CHECK(bits("448", DType::float8_e4m3fn) == 0x7E);
  CHECK(bits("0.001953125", DType::float8_e4m3fn) == 1);
  CHECK(bits("nan", DType::float8_e4m3fn) == 0x7F);
  CHECK(bits("-57344", DType::float8_e5m2) == 0xFB);
  CHECK(bits("inf", DType::float8_e5m2) == 0x7C);
}

TEST_CASE("integers of uint64 have all its bits, and suffixes as C++ has them") {
  const auto plan = planned(
      "//! state s: uint64[3] = [18446744073709551615, 0xFFFFFFFFFFFFFFFFull, 7u]\n"
      "//! scratch best: uint64[rows]\n//! memset best = 0xFFFFFFFFFFFFFFFF\n"
      "//! launch none<<<1, 1>>>()");
  const auto& image = plan.images.at(plan.buffers.at(2).image.value()).bytes;
  CHECK(read<std::uint64_t>(image, 0) == ~std::uint64_t{0});
  CHECK(read<std::uint64_t>(image, 8) == ~std::uint64_t{0});
  CHECK(read<std::uint64_t>(image, 16) == 7);
  CHECK(std::get<MemsetLaunch>(plan.launches.at(0)).value == 0xFFFFFFFF);
}

TEST_CASE("what a round of a loop names is that round's, and a range may have a step") {
  const auto values = [](const std::string& source) {
    std::vector<std::int32_t> found;
    const auto plan = planned(source);
    for (std::size_t i = 0; i < plan.launches.size(); ++i) {
      found.push_back(read<std::int32_t>(kernel(plan, i).parameters, 0));
    }
    return found;
  };
  using Values = std::vector<std::int32_t>;
  CHECK(values("//! for i in range(3):\n//!   let t = i * i + 1\n//!   launch one<<<1, 1>>>(t)\n"
               "//! let t = 7\n//! launch one<<<1, 1>>>(t)") == Values{1, 2, 5, 7});
  CHECK(values("//! for i in range(2) { for j in range(i, 2) { let t = 10 * i + j; "
               "launch one<<<1, 1>>>(t) } }") == Values{0, 1, 11});
  CHECK(values("//! for i in range(1, 10, 4): launch one<<<1, 1>>>(i)") == Values{1, 5, 9});
  CHECK(values("//! for i in range(3, 0, -1): launch one<<<1, 1>>>(i)") == Values{3, 2, 1});
  CHECK(values("//! for i in range(0x7ffffffffffffffe, 0x7fffffffffffffff, 3): "
               "launch one<<<1, 1>>>(4)") == Values{4});
  CHECK_THAT(fault_of("//! let t = 1\n//! for i in range(2): let t = i"),
             ContainsSubstring("'t' already names something"));
}

TEST_CASE("a specification is bounded whatever it says") {
  CHECK_THAT(fault_of("//! for i in range(5000): launch none<<<1, 1>>>()"),
             ContainsSubstring("more than 4096 launches"));
  CHECK_THAT(fault_of("//! for i in range(0x7fffffffffffffff): if 0: launch none<<<1, 1>>>()"),
             ContainsSubstring("more than 65536 steps"));
  std::string nested = "//! ";
  for (int i = 0; i < 100; ++i) nested += "for i" + std::to_string(i) + " in range(1): ";
  CHECK_THAT(fault_of(nested + "launch none<<<1, 1>>>()"), ContainsSubstring("levels are nested"));
  for (const std::string repeated : {"(", "-", "not ", "min(1, "}) {
    std::string text = "//! let a = ";
    for (int i = 0; i < 20000; ++i) text += repeated;
    CHECK_FALSE(fault_of(text + "1").empty());
  }
  std::string sum = "//! let a = 1";
  for (int i = 0; i < 20000; ++i) sum += " + 1";
  CHECK_THAT(fault_of(sum), ContainsSubstring("at most 1024 terms"));
  std::string lines;
  for (int i = 0; i < 40000; ++i) lines += "//! let a\n";
  CHECK_FALSE(fault_of(lines).empty());
  std::string chain = "//! if 0: launch none<<<1, 1>>>()\n";
  for (int i = 0; i < 3000; ++i) chain += "//! else: if 0: launch none<<<1, 1>>>()\n";
  CHECK_THAT(fault_of(chain), ContainsSubstring("nested"));
  CHECK_FALSE(fault_of("//! state s: int64[200000] = [0]").empty());
  CHECK_THAT(fault_of("//! state s: int64[0x7fffffffffffff] = 0"), ContainsSubstring("bytes"));
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "//! " + std::string(i, ' ') + "if 0:\n";
  CHECK_THAT(fault_of(deep), ContainsSubstring("levels are nested"));
}

TEST_CASE("any mutation of a specification is read or refused") {
  const std::string seed =
      "//! scratch partial: float32[rows, cdiv(cols, 4)]\n//! memset partial = 0\n"
      "//! if cols <= 4096: launch copy<<<(rows, 2), 32, shared = 4 * cols>>>(x, out, cols)\n"
      "//! else: for i in range(3): launch one<<<next_pow2(i), 64>>>(i: int32)\n"
      "//! if (rows) { let a = 1; } elif cols:\n//!   let b = 2\n//!   let c = 3\n";
  const std::string alphabet = "()[]{}<>=:,.&+-*/%0123456789ex \n\t!ifrowscl\xc3";
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (std::uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
      }
      if (text.empty()) text = " ";
    }
    const auto fault = fault_of(text);
    refused += fault.empty() ? 0 : 1;
    if (!fault.empty()) CHECK(fault.starts_with("line "));
  }
  CHECK(refused > 1000);
}
