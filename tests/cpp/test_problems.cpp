// Shipped problems against formulas written out here, and what Problem::check refuses.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros {
namespace {

using Row = std::vector<double>;

/// Numbers between -2 and 2 without a pattern that a formula could follow.
at::Tensor numbers(std::vector<std::int64_t> shape, int salt) {
  at::Tensor made = at::empty(shape, at::kDouble);
  double* values = made.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < made.numel(); ++i) {
    values[i] = static_cast<double>((i * 7919 + salt * 104729 + 31) % 4001) / 1000.0 - 2.0;
  }
  return made;
}

Tensors inputs_of(const Problem& problem, const AxisValues& axes, DType dtype) {
  Tensors inputs;
  for (const Input& input : problem.inputs) {
    std::vector<std::int64_t> shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.scale * axes.at(dim.axis));
    if (input.values == Values::index) {
      inputs.push_back(
          at::arange(shape.at(0), at::kLong).mul(3).remainder(axes.at(input.index_axis)));
    } else {
      inputs.push_back(numbers(shape, static_cast<int>(inputs.size()))
                           .to(scalar_type(input.dtype.value_or(dtype))));
    }
  }
  return inputs;
}

Row row_of(const at::Tensor& tensor, std::int64_t row) {
  const at::Tensor line = (tensor.dim() == 1 ? tensor : tensor.select(0, row)).to(at::kDouble);
  const at::Tensor flat = line.contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

double mean_of(const Row& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double sum_exp(const Row& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  return sum;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

Row rms(const Row& x, const Row& weight) {
  double square = 0;
  for (const double v : x) square += v * v;
  Row out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(x[i] / std::sqrt(square / static_cast<double>(x.size()) + 1e-6) * weight[i]);
  }
  return out;
}

Row layer(const Row& x, const Row& weight, const Row& bias) {
  const double mean = mean_of(x);
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]);
  }
  return out;
}

Row plus(const Row& a, const Row& b) {
  Row out(a);
  for (std::size_t i = 0; i < a.size(); ++i) out[i] += b[i];
  return out;
}

Row each(Row x, const std::function<double(double)>& function) {
  std::transform(x.begin(), x.end(), x.begin(), function);
  return x;
}

/// The outputs of one row, by the definition.
std::vector<Row> expected(const std::string& name, const std::vector<Row>& in) {
  const Row& x = in[0];
  if (name == "softmax") {
    return {each(x, [s = sum_exp(x)](double v) { return std::exp(v) / s; })};
  }
  if (name == "log_softmax") {
    return {each(x, [s = sum_exp(x)](double v) { return v - std::log(s); })};
  }
  if (name == "rmsnorm") return {rms(x, in[1])};
  if (name == "layernorm") return {layer(x, in[1], in[2])};
  if (name == "add_rmsnorm") return {rms(plus(x, in[1]), in[2]), plus(x, in[1])};
  if (name == "add_rmsnorm_gelu") return {each(rms(plus(x, in[1]), in[2]), gelu_tanh)};
  if (name == "layernorm_silu") {
    return {each(layer(x, in[1], in[2]), [](double v) { return v * sigmoid(v); })};
  }
  Row out;
  if (name == "swiglu") {
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * sigmoid(x[i]) * in[1][i]);
  } else if (name == "geglu") {
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(gelu_tanh(x[i]) * in[1][i]);
  } else if (name == "rope") {
    const std::size_t half = in[1].size();
    for (std::size_t i = 0; i < half; ++i) out.push_back(x[i] * in[1][i] - x[half + i] * in[2][i]);
    for (std::size_t i = 0; i < half; ++i) out.push_back(x[half + i] * in[1][i] + x[i] * in[2][i]);
  } else if (name == "cumsum") {
    double sum = 0;
    for (const double v : x) out.push_back(sum += v);
  }
  return {out};
}

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return 0x1p-8;
    case DType::float16:
      return 0x1p-11;
    case DType::float32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

Problem softmax() { return problems::get("softmax"); }

std::string refusal(const Problem& problem) {
  try {
    problem.check();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the twelve shipped problems are sound") {
  const auto names = problems::names();
  CHECK(names.size() == 12);
  for (const auto& name : names) {
    CAPTURE(name);
    const Problem problem = problems::get(name);
    CHECK_NOTHROW(problem.check());
    CHECK(problem.name == name);
    CHECK(problem.origin == "builtin:" + name);
    CHECK_FALSE(problem.description.empty());
    CHECK(problem.timed.size() == 2);
    CHECK(problem.dtypes.size() == 4);
  }
}

TEST_CASE("references compute their formulas in every dtype") {
  const AxisValues axes = {{"rows", 5}, {"cols", 37}, {"half", 19}, {"classes", 23}};
  for (const auto& name : problems::names()) {
    const Problem problem = problems::get(name);
    for (const DType dtype : problem.dtypes) {
      CAPTURE(name, to_string(dtype));
      const Tensors inputs = inputs_of(problem, axes, dtype);
      const Tensors outputs = problem.reference(inputs);
      REQUIRE(outputs.size() == problem.outputs.size());
      for (std::int64_t row = 0; row < 5; ++row) {
        std::vector<Row> rows;
        for (const auto& input : inputs) rows.push_back(row_of(input, row));
        std::vector<Row> wanted;
        if (name == "cross_entropy") {
          const auto target = static_cast<std::size_t>(rows[1][static_cast<std::size_t>(row)]);
          wanted = {{std::log(sum_exp(rows[0])) - rows[0][target]}};
        } else {
          wanted = expected(name, rows);
        }
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          CHECK(outputs[k].scalar_type() == scalar_type(dtype));
          Row made = row_of(outputs[k], row);
          if (name == "cross_entropy") made = {made[static_cast<std::size_t>(row)]};
          REQUIRE(made.size() == wanted[k].size());
          double worst = 0;
          for (std::size_t i = 0; i < made.size(); ++i) {
            worst =
                std::max(worst, std::abs(made[i] - wanted[k][i]) / (1 + std::abs(wanted[k][i])));
          }
          // Float16 is rounded once, from float32; the others gather a few roundings.
          // 16-bit results are computed in float32 and rounded once.
          CHECK(worst <= (size_of(dtype) == 2 ? 1.01 : 40.0) * unit_of(dtype));
        }
      }
    }
  }
}

TEST_CASE("references leave their inputs alone and give new tensors") {
  const AxisValues axes = {{"rows", 3}, {"cols", 8}, {"half", 4}, {"classes", 8}};
  for (const auto& name : problems::names()) {
    CAPTURE(name);
    const Problem problem = problems::get(name);
    const Tensors inputs = inputs_of(problem, axes, DType::float64);
    Tensors before;
    for (const auto& input : inputs) before.push_back(input.clone());
    const Tensors outputs = problem.reference(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CHECK(inputs[i].equal(before[i]));
      for (const auto& output : outputs)
        CHECK(output.const_data_ptr() != inputs[i].const_data_ptr());
    }
  }
}

TEST_CASE("rows may be missing") {
  const AxisValues axes = {{"rows", 0}, {"cols", 8}, {"half", 4}, {"classes", 8}};
  for (const auto& name : problems::names()) {
    CAPTURE(name);
    const Problem problem = problems::get(name);
    for (const auto& output : problem.reference(inputs_of(problem, axes, DType::float32))) {
      CHECK(output.numel() == 0);
    }
  }
}

TEST_CASE("large values do not overflow in softmax and its relatives") {
  for (const char* name : {"softmax", "log_softmax", "cross_entropy"}) {
    CAPTURE(name);
    Tensors inputs = {numbers({2, 64}, 1).to(at::kFloat).mul(1000), at::zeros({2}, at::kLong)};
    inputs.resize(problems::get(name).inputs.size());
    CHECK(problems::get(name).reference(inputs)[0].isfinite().all().item<bool>());
  }
}

TEST_CASE("an unknown problem is refused with the names of all") {
  std::string message;
  try {
    static_cast<void>(problems::get("soft_max"));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
    message = error.what();
  }
  CHECK(message.find("soft_max") != std::string::npos);
  for (const auto& name : problems::names()) CHECK(message.find(name) != std::string::npos);
}

TEST_CASE("check names the field that cannot work") {
  Problem problem = softmax();
  std::string wanted;
  const auto add_axis = [&](std::string name) {
    Axis axis;
    axis.name = std::move(name);
    problem.axes.push_back(axis);
  };

  SECTION("no name") { problem.name.clear(), wanted = "name"; }
  SECTION("no reference") { problem.reference = nullptr, wanted = "reference"; }
  SECTION("no dtype") { problem.dtypes.clear(), wanted = "dtypes"; }
  SECTION("a dtype twice") { problem.dtypes = {DType::float32, DType::float32}, wanted = "dtypes"; }
  SECTION("mutation") { problem.policies.mutates_inputs = true, wanted = "mutates_inputs"; }
  SECTION("no input") { problem.inputs.clear(), problem.axes.clear(), wanted = "inputs"; }
  SECTION("no output") { problem.outputs.clear(), wanted = "outputs"; }
  SECTION("an output named as an input") { problem.outputs = {"x"}, wanted = "outputs[0]"; }
  SECTION("an input named as an axis") { problem.inputs[0].name = "rows", wanted = "inputs[0]"; }
  SECTION("a name with a dot") { problem.inputs[0].name = "fc.weight", wanted = "'fc.weight'"; }
  SECTION("a name that begins with a digit") { problem.outputs = {"2nd"}, wanted = "'2nd'"; }
  SECTION("an unknown axis in a shape") {
    problem.inputs[0].shape.push_back({.scale = 1, .axis = "depth"}), wanted = "'depth'";
  }
  SECTION("a negative extent") {
    problem.inputs[0].shape.push_back({.scale = -1, .axis = ""}), wanted = "inputs[0] 'x'";
  }
  SECTION("no multiple of an axis") { problem.inputs[0].shape[0].scale = 0, wanted = "scale 0"; }
  SECTION("an axis without use") { add_axis("depth"), wanted = "axes[2] 'depth'"; }
  SECTION("an axis without a value") {
    problem.axes[1].minimum = 9, problem.axes[1].maximum = 15, problem.axes[1].multiple_of = 8;
    wanted = "axes[1] 'cols'";
  }
  SECTION("a multiple of nothing") { problem.axes[1].multiple_of = 0, wanted = "multiple_of"; }
  SECTION("a negative minimum") { problem.axes[0].minimum = -1, wanted = "minimum"; }
  SECTION("a fixed value that breaks the axis' rule") {
    problem.axes[1].fixed = 12, problem.axes[1].multiple_of = 8, wanted = "fixed";
  }
  SECTION("a cell without an axis") { problem.timed = {{{"rows", 4}}}, wanted = "'cols'"; }
  SECTION("a cell with an unknown axis") {
    problem.timed[1]["depth"] = 4, wanted = "timed[1]: unknown axis 'depth'";
  }
  SECTION("a cell without an axis that can only be one thing") {
    problem.axes[1].minimum = problem.axes[1].maximum = 6;
    problem.timed[0].erase("cols"), wanted = "It can only be 6: with fixed=6 it needs none";
  }
  SECTION("a cell below the minimum") { problem.timed[0]["cols"] = 0, wanted = "timed[0]"; }
  SECTION("a cell that is no multiple") { problem.axes[1].multiple_of = 3, wanted = "timed[0]"; }
  SECTION("a cell against a fixed axis") { problem.axes[1].fixed = 8, wanted = "fixed at 8"; }
  SECTION("floating indices") {
    problem.inputs[0].values = Values::index, problem.inputs[0].index_axis = "cols";
    wanted = "int32 or int64";
  }
  SECTION("indices over nothing") {
    problem.inputs[0].values = Values::index, problem.inputs[0].dtype = DType::int64;
    wanted = "index_axis";
  }
  SECTION("indices over an axis that may be empty") {
    problem.inputs[0].values = Values::index, problem.inputs[0].dtype = DType::int64;
    problem.inputs[0].index_axis = "rows", wanted = "may be 0";
  }
  SECTION("padding of what is no index") {
    problem.inputs[0].padding = -1, wanted = "padding is for indices";
  }
  SECTION("padding of lengths") {
    problem.inputs[0].values = Values::length, problem.inputs[0].dtype = DType::int64;
    problem.inputs[0].index_axis = "cols", problem.inputs[0].padding = -1;
    wanted = "padding is for indices";
  }
  SECTION("padding beyond the dtype") {
    problem.inputs[0].values = Values::index, problem.inputs[0].dtype = DType::int32;
    problem.inputs[0].index_axis = "cols", problem.inputs[0].padding = std::int64_t{1} << 31;
    wanted = "is no int32";
  }
  SECTION("a permutation of another axis than it has") {
    problem.inputs[0].values = Values::permutation, problem.inputs[0].dtype = DType::int32;
    problem.inputs[0].index_axis = "rows", wanted = "the last extent of a permutation";
  }
  SECTION("offsets that are one number") {
    Input one{.name = "ends", .dtype = DType::int32, .values = Values::offsets};
    one.index_axis = "cols", wanted = "offsets and permutations need a dimension";
    problem.inputs.push_back(one);
  }
  SECTION("a second eager") {
    problem.baselines = {{"eager", [](const Tensors&, const Tensors&) { return [] {}; }}};
    wanted = "baselines[0]";
  }
  SECTION("a baseline without a callable") {
    problem.baselines = {{"mine", nullptr}}, wanted = "'mine'";
  }
  SECTION("too many arguments") {
    for (int i = 0; problem.inputs.size() < max_call_arguments - 2; ++i) {
      Input input = problem.inputs[0];
      input.name = "x" + std::to_string(i);
      problem.inputs.push_back(input);
    }
    wanted = "129 arguments";
  }
  const std::string message = refusal(problem);
  CAPTURE(message);
  REQUIRE_FALSE(wanted.empty());
  CHECK(message.find("problem '" + problem.name + "'") != std::string::npos);
  CHECK(message.find(wanted) != std::string::npos);
}

TEST_CASE("check accepts what is unusual but legal") {
  Problem problem = softmax();
  problem.timed_gpu.clear();
  SECTION("as many arguments as a call has") {
    for (int i = 0; problem.inputs.size() < max_call_arguments - 3; ++i) {
      Input input = problem.inputs[0];
      input.name = "x" + std::to_string(i);
      problem.inputs.push_back(input);
    }
  }
  SECTION("no cell to time") { problem.timed.clear(); }
  SECTION("a cell beyond what the sweep derives") {
    problem.timed = {{{"rows", 1}, {"cols", 1 << 20}}};
  }
  SECTION("a fixed axis that cells leave out") {
    problem.axes[1].fixed = 64;
    problem.timed = {{{"rows", 4}}};
  }
  SECTION("a fixed axis that only bounds indices") {
    Axis codes;
    codes.name = "codes";
    codes.fixed = 7;
    problem.axes.push_back(codes);
    problem.inputs[0].values = Values::index;
    problem.inputs[0].dtype = DType::int32;
    problem.inputs[0].index_axis = "codes";
  }
  SECTION("constant extents and scalars") {
    problem.axes.clear();
    problem.inputs[0].shape = {{.scale = 4, .axis = ""}, {.scale = 0, .axis = ""}};
    problem.timed = {{}};
  }
  CHECK_NOTHROW(problem.check());
}

}  // namespace ouroboros
