#include "problems/shipped.hpp"

#include <utility>

namespace ouroboros::problems::shipped {
namespace {

std::vector<Dim> dims(const std::vector<std::string>& axes) {
  std::vector<Dim> shape;
  for (const auto& axis : axes) shape.push_back({.scale = 1, .axis = axis});
  return shape;
}

}  // namespace

Problem over(const std::vector<std::string>& axes) {
  Problem problem;
  for (const auto& name : axes) {
    Axis axis;
    axis.name = name;
    axis.minimum = problem.axes.empty() ? 0 : 1;
    problem.axes.push_back(std::move(axis));
  }
  problem.dtypes = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  return problem;
}

Input tensor(std::string name, const std::vector<std::string>& axes) {
  Input input;
  input.name = std::move(name);
  input.shape = dims(axes);
  return input;
}

Input weight(std::string name, const std::vector<std::string>& axes) {
  Input input = tensor(std::move(name), axes);
  input.parameter = true;
  return input;
}

at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

}  // namespace ouroboros::problems::shipped
